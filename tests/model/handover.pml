/* Who looks after a collective in the background while threads of its rank wait: src/coll/schedule/progress.h.
   A rank has two threads, and a collective of three rounds, each one message from a peer. "Starter"
   starts it; then he waits for a message of his own or for the collective, and leaves MPI for good.
   The other one waits for a message that the peer sends when the collective is over at the rank: so
   whoever sleeps or is awake in MPI has to move it on. Nobody may sleep for ever. (Three threads and
   two rounds hold, too: -Dthreads=3 -Drounds=2, 9 million states.)

   While a thread is awake in its wait, it is progressing (src/sleep/progressing.h): the collective's messages
   ring nobody then, and it looks once more before its sleep and before it leaves the wait.

   All that threads do is done with the rank's lock held; the peer takes none. The doorbell
   (doorbell.pml) is a word here that a ring for the present sleep changes. */

#ifndef threads
#define threads 2
#define rounds 3
#endif
#define nobody threads

mtype = { awake, asleep, signalled }
mtype state[threads] = awake;
byte number[threads];        /* of the sleep */

bool locked;
bool own[threads];           /* its own message is there */

byte started, over;          /* rounds of the collective */
bool arrived;                /* the message of the round that is under way */
byte armed = nobody;         /* whom it rings … */
byte armed_number;           /* … in which sleep */
byte waiter = nobody;        /* who sleeps for the collective */
byte heir = nobody;
bool unattended;
byte list[3] = nobody;       /* who sleeps, the last one first */
byte progressing;

#define under_way (started > over)
#define complete (over == rounds)
#define lock() atomic { !locked -> locked = true }
#define unlock() locked = false

inline ring(who, which) {
  atomic {
    if
    :: who != nobody && state[who] == asleep && number[who] == which -> state[who] = signalled
    :: else
    fi
  }
}

/* Arms the message that is under way; a message that has arrived rings nobody any more. */
inline arm_message(who) {
  atomic {
    armed_over = under_way && arrived;
    if
    :: under_way && !arrived -> armed = who; armed_number = number[who]
    :: else
    fi
  }
}

inline hand_over() {
  unattended = false;
  if
  :: list[0] != nobody && !complete ->
     heir = list[0];
     to = (waiter != nobody -> waiter : heir);
     arm_message(to);
     if
     :: armed_over -> ring(to, number[to])
     :: else
     fi
  :: else
  fi
}

/* What arrived is taken, and the next round begins. */
inline progress() {
  if
  :: under_way && arrived ->
     atomic { over++; arrived = false; armed = nobody }
     if
     :: complete ->
        unattended = false;
        if
        :: waiter != nobody -> ring(waiter, number[waiter]); waiter = nobody
        :: else
        fi
     :: else -> unattended = true; started++
     fi
  :: else
  fi
}

inline enlist(who) {
  atomic { list[2] = list[1]; list[1] = list[0]; list[0] = who }
}
inline unlist(who) {
  atomic {
    if
    :: list[0] == who -> list[0] = list[1]; list[1] = list[2]
    :: list[1] == who -> list[1] = list[2]
    :: else
    fi;
    list[2] = nobody
  }
}

/* Waits for its own message, or for the collective. The lock is held before and after. */
inline await(me, for_collective) {
  progressing++;
  do
  :: progress();
     if
     :: (for_collective && complete) || (!for_collective && own[me]) -> break
     :: else
     fi;
     if
     :: unlock(); lock()  /* another turn */
     :: progressing--;
        atomic { enlist(me); number[me]++; state[me] = asleep }
        if
        :: for_collective && !complete ->
           waiter = me; arm_message(me);
           if
           :: armed_over -> ring(me, number[me])
           :: else
           fi
        :: else
        fi;
        if
        :: !complete && waiter == nobody -> arm_message(me)  /* and looks at it below */
        :: !complete && waiter != nobody && waiter != me && unattended ->
           arm_message(waiter);
           if
           :: armed_over -> ring(waiter, number[waiter])
           :: else
           fi
        :: else
        fi;
        atomic { heir = me; unattended = false }
        progress();
        if
        :: (for_collective && complete) || (!for_collective && own[me])
        :: else ->
           if
           :: unattended -> hand_over() /* before the sleep */
           :: else
           fi;
           unlock();
           state[me] == signalled;
           lock()
        fi;
        unlist(me);
        state[me] = awake;
        atomic {
          if
          :: waiter == me -> waiter = nobody; armed = nobody; unattended = !complete
          :: heir == me && waiter == nobody -> armed = nobody; unattended = !complete
          :: else
          fi;
          if
          :: heir == me -> heir = nobody
          :: else
          fi
        }
        progressing++
     fi
  od;
  progressing--;
  progress() /* leaves its wait */
}

inline leave() {
  if
  :: unattended -> hand_over() /* before it leaves MPI */
  :: else
  fi;
  unlock()
}

proctype thread(byte me; bool starter) {
  byte to;
  bool armed_over, for_collective;
  if
  :: starter ->
     lock();
     unattended = true;
     started = 1;
     leave();
     if
     :: for_collective = true
     :: for_collective = false
     fi
  :: else
  fi;
  lock();
  await(me, for_collective);
  leave()
}

/* Sends the messages of the collective, each when the rank has begun that round; that of the
   starter at any time; those of the others at the end. */
proctype peer() {
  byte who, which;
  do
  :: atomic { under_way && !arrived -> arrived = true; who = armed; which = armed_number };
     if
     :: progressing == 0 -> ring(who, which)
     :: else
     fi
  :: atomic { !own[0] -> own[0] = true; who = 0; which = number[0] };
     ring(who, which)
  :: atomic { complete && !own[1] -> own[1] = true; who = 1; which = number[1] };
     ring(who, which)
#if threads > 2
  :: atomic { complete && !own[2] -> own[2] = true; who = 2; which = number[2] };
     ring(who, which)
#endif
  :: own[0] && own[1] && complete && own[threads - 1] -> break
  od
}

init {
  atomic {
    run thread(0, true);
    run thread(1, false);
#if threads > 2
    run thread(2, false);
#endif
    run peer()
  }
}
