/* The doorbell (src/wait/doorbell.h) for the model checker spin: one sleeper, two ringers that
 * compete, a condition that needs both. Checked: the sleeper never sleeps for ever once the
 * condition holds (no invalid end state), and at most one system call is paid per sleep.
 *
 * spin's memory is sequentially consistent; the fences of the code make the two store-then-load
 * pairs so. Run: spin -search tests/model/doorbell.pml
 */
mtype = { awake, arming, on_futex, rung };

mtype word = awake;
byte remaining = 2;    /* completions still wanted */
bool in_kernel = false;
byte wakes = 0;        /* rings of the present sleep: at most one succeeds */

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
  do
  :: remaining == 0 -> break
  :: else ->
     atomic { wakes = 0; word = arming };
     /* fence; look again */
     if
     :: remaining == 0
     :: else ->
        if
        :: atomic { word == arming -> word = on_futex };
           do
           :: atomic { word == on_futex -> in_kernel = true };  /* FUTEX_WAIT compares, sleeps */
              (!in_kernel)
           :: atomic { word != on_futex -> break }
           od
        :: atomic { word != arming -> skip }
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
  }
}
