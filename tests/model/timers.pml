/* A thread rank that sleeps with a timer of its worker (src/scheduling/worker.cpp: take_due, take_woken;
 * src/sleep/doorbell.cpp: suspend, rouse) for the model checker spin. One rank sleeps three times,
 * each time with a timer or without, as chance will have it; one ringer completes what it waits
 * for, another one rings for other work. Who holds the worker (the rank while it runs, else the
 * worker's carrier) is one process here: nobody else changes timers or queue. Checked:
 *   - the rank is queued exactly once for each sleep, whether it was signalled, its time came, or both;
 *   - a timer is gone before the next sleep begins;
 *   - it never sleeps for ever once the condition holds (no invalid end state).
 * Run: spin -search tests/model/timers.pml
 */
mtype = { awake, arming, on_futex, signalled };

mtype word = awake;
byte remaining = 1;
byte list = 0;          /* place_.woken: put there by ringers */
bool bell = false;      /* the worker's own doorbell; its protocol is doorbell.pml's */
bool timer = false;
byte queued = 0;
byte timed_sleeps = 2;

inline ring()
{
  mtype seen;
  seen = word;
  do
  :: (seen == arming || seen == on_futex) ->
     if
     :: atomic { word == seen -> word = signalled };
        if
        :: seen == on_futex ->                   /* make_runnable */
           atomic { list++; assert(list <= 1) };
           bell = true
        :: else
        fi;
        break
     :: atomic { word != seen -> seen = word }
     fi
  :: else -> break
  od
}

proctype completer()
{
  remaining = 0;
  ring()
}

proctype passer_by()
{
  ring()
}

proctype worker_and_rank()
{
  do
  :: remaining == 0 -> break
  :: else ->
     word = arming;
     /* fence; look again */
     if
     :: remaining == 0
     :: else ->
        if
        :: atomic { word == arming -> word = on_futex };
           assert(!timer);
           if
           :: timed_sleeps > 0 -> timed_sleeps--; timer = true
           :: skip
           fi;
           /* the rank is suspended; the carrier goes on */
           do
           :: queued > 0 -> queued--; break      /* it runs again */
           :: atomic { list > 0 -> list--; timer = false; queued++ };  /* take_woken */
              assert(queued == 1)
           :: queued == 0 && timer ->            /* take_due: its time may have come */
              timer = false;
              if
              :: atomic { word == on_futex -> word = arming }; queued++; assert(queued == 1)
              :: atomic { word != on_futex -> skip }   /* it is on the list, or will be */
              fi
           :: queued == 0 && list == 0 && !timer -> bell -> bell = false   /* sleeps on its bell */
           od
        :: atomic { word != arming -> skip }
        fi
     fi;
     word = awake
  od;
  assert(queued == 0 && !timer)
}

init {
  atomic {
    run worker_and_rank();
    run completer();
    run passer_by()
  }
}
