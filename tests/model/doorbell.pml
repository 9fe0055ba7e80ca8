/* The doorbell (src/wait/doorbell.h) for the model checker spin: one sleeper, two completers that
 * compete, a condition that needs both, and somebody who rings for other work. A sleep may end by
 * itself (sleep_until_rung_or), as chance will have it. Checked:
 *   - the sleeper never sleeps for ever once the condition holds (no invalid end state);
 *   - at most one ring of a sleep succeeds;
 *   - the count of sleepers (wait/deadlock.h) is never below 0 and is 0 at the end, though a ring
 *     and the end of the time may meet.
 *
 * spin's memory is sequentially consistent; the fences of the code make the two store-then-load
 * pairs so. Run: spin -search tests/model/doorbell.pml
 */
mtype = { awake, arming, on_futex, rung };

mtype word = awake;
byte remaining = 2;    /* completions still wanted */
bool in_kernel = false;
byte wakes = 0;        /* rings of the present sleep: at most one succeeds */
short asleep = 0;      /* count_in, count_out */
byte timers = 2;       /* sleeps that may end by themselves; the others are until rung */

/* wait::ring */
inline ring()
{
  mtype seen;
  seen = word;                                   /* after the fence */
  do
  :: (seen == arming || seen == on_futex) ->
     if
     :: atomic {                                 /* compare-and-swap */
          word == seen -> word = rung;
          wakes++;
          assert(wakes <= 1)
        };
        if
        :: seen == on_futex ->
           atomic { asleep--; assert(asleep >= 0) };
           in_kernel = false  /* FUTEX_WAKE: perhaps late, then it hits a later sleep */
        :: else
        fi;
        break
     :: atomic { word != seen -> seen = word }
     fi
  :: else -> break
  od
}

/* wait::count_down: a completion by somebody else */
proctype completer()
{
  byte left;
  atomic { remaining--; left = remaining };
  if
  :: left == 0 -> ring()
  :: else
  fi
}

/* somebody who rings for work without completing anything (wait::ring_rank) */
proctype passer_by()
{
  ring()
}

proctype sleeper()
{
  bool timed;
  do
  :: remaining == 0 -> break
  :: else ->
     timed = false;
     if
     :: timers > 0 -> timers--; timed = true
     :: skip
     fi;
     atomic { wakes = 0; word = arming };
     /* fence; look again */
     if
     :: remaining == 0
     :: else ->
        asleep++;                                /* count_in */
        if
        :: atomic { word == arming -> word = on_futex };
           do
           :: atomic { word == on_futex -> in_kernel = true };  /* FUTEX_WAIT compares, sleeps */
              if
              :: !in_kernel
              :: timed -> in_kernel = false;     /* the time is over: time_is_over */
                 if
                 :: atomic { word == on_futex -> word = arming }; asleep--
                 :: atomic { word != on_futex -> skip }          /* rung: counted out by the ringer */
                 fi;
                 break
              fi
           :: atomic { word != on_futex -> break }
           od
        :: atomic { word != arming -> asleep-- }
        fi
     fi;
     word = awake
  od
}

init {
  atomic {
    run sleeper();
    run completer();
    run completer();
    run passer_by()
  };
  (_nr_pr == 1);
  assert(asleep == 0)
}
