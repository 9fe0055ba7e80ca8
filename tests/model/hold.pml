/* Who holds a worker (src/scheduling/scheduler.h: enter, leave_hold, try_take, give_back), and how it is handed over
 * (src/scheduling/monitor.cpp), for the model checker spin. One worker, two kernel threads that may carry it, one rank
 * that runs on whichever has it. The rank gives work to its own worker, without a ring while it runs there
 * (worker.h: runs_on), and spins until that is done: so the monitor has to hand the worker over. A thief comes by as
 * well. Checked:
 *   - the worker is held by one at a time, and by no carrier but its own;
 *   - what the rank has given is done, and the rank comes back and ends (no invalid end state).
 *
 * A carrier's stores go through a buffer, as a processor's do: enter has no fence that empties it, but membarrier by
 * who takes the worker. All others' accesses are sequentially consistent here.
 * Run: spin -search tests/model/hold.pml
 */
#define nobody 2

bit inside[2];                     /* Carrier::inside, as others see it … */
chan buffer[2] = [4] of { bit };   /* … and what the carrier has written, and they do not see yet */
bit taken;                         /* Worker::taken_ */
byte carrier = 0;                  /* Worker::carrier_ */
bool running;                      /* the rank's State::running: else offloaded, or on the list */
byte list;                         /* place_.woken: work for this worker */
bool rank_on_list = true;
bool bell;                         /* its carrier is signalled; that protocol is doorbell.pml's */
bool spare[2], called[2];
byte tasks = 2;                    /* that the rank will give */
bool ended;                        /* the rank */
byte holders;

#define written(who) empty(buffer[who])

inline begin_hold() {
  holders++;
  assert(holders == 1)
}
inline end_hold() {
  holders--
}

active proctype memory() {
end:
  do
  :: atomic { buffer[0]?inside[0] }
  :: atomic { buffer[1]?inside[1] }
  od
}

/* `is_in`, or the worker is another carrier's */
inline enter() {
  buffer[me]!1;                    /* light(): no instruction */
  do
  :: seen = taken; whose = carrier;
     if
     :: seen == 0 -> is_in = (whose == me); break
     :: else ->                    /* enter_slowly */
        buffer[me]!0;
        taken == 0;
        buffer[me]!1
     fi
  od;
  if
  :: !is_in -> buffer[me]!0
  :: else
  fi
}

inline rank_spins() {
  if
  :: tasks > 0 ->
     tasks--;
     atomic { written(me) -> list++ }; runs_on = running;  /* a push is a read-modify-write */
     if
     :: runs_on -> skip            /* its worker will look at the list before it sleeps */
     :: else -> bell = true
     fi;
     list == 0                     /* spins until it is done */
  :: else
  fi
}

proctype carrying(bit me) {
  bit seen;
  byte whose;
  bool is_in, runs, runs_on;
  if
  :: me == 0
  :: else -> goto is_spare
  fi;
  do
  :: enter();
     if
     :: is_in ->
        begin_hold();
        assert(carrier == me);
        if
        :: runs && tasks == 0 -> ended = true; running = false  /* finish */
        :: else ->
           list = 0;               /* take_woken; the work is done at once */
           if
           :: rank_on_list -> rank_on_list = false; runs = true; running = true
           :: else
           fi
        fi;
        end_hold();
        buffer[me]!0;              /* leave_hold */
        if
        :: ended -> break
        :: !ended && runs -> rank_spins()
        :: !ended && !runs ->      /* idle: sleeps on the bell */
           if
           :: bell -> bell = false
           :: ended -> break
           fi
        fi
     :: else ->                    /* it was handed over: the rank queues there, this carrier is spare */
        assert(runs);
        runs = false;
        rank_on_list = true;
        bell = true;
is_spare:
        spare[me] = true;
endspare:
        called[me];
        called[me] = false
     fi
  od
}

inline try_take() {
  got = false;
  if
  :: atomic { taken == 0 -> taken = 1 };
     written(0); written(1);       /* heavy() */
     if
     :: inside[carrier] -> taken = 0
     :: else -> got = true
     fi
  :: taken != 0
  fi
}

active proctype thief() {
  bool got;
  try_take();
  if
  :: got -> begin_hold(); end_hold(); taken = 0
  :: else
  fi
}

active proctype monitor() {
  bool got;
  byte to;
endmonitor:
  do
  :: ended -> break
  :: running && (spare[0] || spare[1]) ->
     to = (spare[0] -> 0 : 1);
     try_take();
     if
     :: got ->
        begin_hold();
        if
        :: running ->              /* hand_over */
           running = false;
           carrier = to
        :: else -> to = nobody
        fi;
        end_hold();
        taken = 0;                 /* give_back */
        if
        :: to != nobody -> spare[to] = false; called[to] = true
        :: else
        fi
     :: else
     fi
  od
}

init {
  atomic {
    run carrying(0);
    run carrying(1)
  }
}
