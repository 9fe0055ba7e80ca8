/* The doorbell (src/sleep/doorbell.h) for the model checker spin: one sleeper that waits for two
 * completions, then at a gate, and somebody who rings for other work. A sleep may end by itself
 * (sleep_until_signalled_or), as chance will have it, and whoever rings may lose his core between any two
 * steps. Checked:
 *   - the sleeper never sleeps for ever once what it waits for is there (no invalid end state);
 *   - at most one ring of a sleep succeeds;
 *   - who is signalled finds what it waits for, though sleeps end by themselves and ringers come late: a
 *     ring for an earlier sleep does not wake the next one (but for who rings for other work);
 *   - the count of sleepers (deadlock/deadlock.h) is never below 0 and is 0 at the end, though a ring
 *     and the end of the time may meet.
 *
 * spin's memory is sequentially consistent; the fences of the code make the two store-then-load
 * pairs so. Run: spin -search tests/model/doorbell.pml
 */
mtype = { awake, arming, on_futex, signalled };

mtype word = awake;    /* of Waiter::state the Sleep, and … */
byte number = 0;       /* … above it the number of the sleep: changed and compared together */
byte counting = 0;     /* of Waiter::remaining the number of its sleep, and … */
short left = 0;        /* … how many completions it still sleeps for */
bool final[2];         /* Receive::state, Transfer::state: it is complete */
byte armed[2];         /* and who waits for it: the number of his sleep, 0: nobody */
byte remaining = 2;    /* that are not final: the first condition */
bool open = false;     /* the gate: the second one */
byte member = 0;       /* coll::Member::waiter: the last sleep at a gate */
bool at_gate = false;  /* the sleeper waits for the second one */
bool in_kernel = false;
byte wakes = 0;        /* rings of the present sleep: at most one succeeds */
bool passed = false;   /* somebody has signalled for other work */
short asleep = 0;      /* count_in, count_out */
byte timers = 1;       /* one sleep may end by itself, any; the others are until signalled */

/* wait::ring. `meant`: the sleep that is meant; 0: whichever it is */
inline ring(meant)
{
  atomic { seen = word; seen_number = number };  /* one load, after the fence */
  do
  :: ((seen == arming || seen == on_futex) && (meant == 0 || meant == seen_number)) ->
     if
     :: atomic {                                 /* compare-and-swap */
          word == seen && number == seen_number -> word = signalled;
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
     :: atomic { word != seen || number != seen_number -> seen = word; seen_number = number }
     fi
  :: else -> break
  od
}

/* A completion by somebody else: match::Engine::finish, then wait::count_down */
proctype completer(byte which)
{
  mtype seen;
  byte seen_number;
  byte meant;
  bool last = false;
  atomic { final[which] = true; remaining--; meant = armed[which] };
  if
  :: meant != 0 ->
     atomic {                                    /* compare-and-swap of both halves */
       if
       :: counting == meant -> left--; last = (left == 0)
       :: else
       fi
     };
     if
     :: last -> ring(meant)
     :: else
     fi
  :: else
  fi
}

/* Who opens the gate: coll::ring_ticket. The sleeper may have gone on by itself since. */
proctype opener()
{
  mtype seen;
  byte seen_number;
  byte meant;
  open = true;
  meant = member;
  if
  :: meant != 0 -> ring(meant)
  :: else
  fi
}

/* somebody who rings for work without completing anything (wait::ring_rank) */
proctype passer_by()
{
  mtype seen;
  byte seen_number;
  passed = true;
  ring(0)
}

#define there ((!at_gate && remaining == 0) || (at_gate && open))

/* By RequestsAwaited::arm */
inline arm_for_completions()
{
  atomic { counting = number; left = 10; leaves = 0; which = 0 };  /* expect: more than will be */
  do
  :: which < 2 ->
     atomic {
       if
       :: !final[which] -> armed[which] = number; leaves++
       :: else
       fi;
       which++
     };
  :: else -> break
  od;
  atomic { left = left + leaves - 10 };          /* expect_more */
  if
  :: left <= 0 -> atomic { word = signalled }         /* it rings itself */
  :: else
  fi
}

proctype sleeper()
{
  bool timed;
  byte which;
  byte leaves;
  do
  :: there && at_gate -> break
  :: there && !at_gate -> at_gate = true         /* what it does next is something else */
  :: !there ->
     atomic {                                    /* begin_sleep */
       timed = false;
       if
       :: timers > 0 -> timers--; timed = true
       :: skip
       fi;
       wakes = 0; number++; word = arming
     };
     if
     :: at_gate -> member = number
     :: else -> arm_for_completions()
     fi;
     /* fence; look again */
     if
     :: there
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
                 :: atomic { word != on_futex -> skip }          /* signalled: counted out by the ringer */
                 fi;
                 break
              fi
           :: atomic { word != on_futex -> break }
           od
        :: atomic { word != arming -> asleep-- }
        fi
     fi;
     atomic {                                    /* end_sleep */
       assert(word != signalled || there || passed);
       word = awake
     };
     armed[0] = 0;                               /* disarm */
     armed[1] = 0
  od
}

init {
  atomic {
    run sleeper();
    run completer(0);
    run completer(1);
    run opener();
    run passer_by()
  };
  (_nr_pr == 1);
  assert(asleep == 0)
}
