/* The eager ring beside the inbox (src/match/eager_ring.h, and who empties both: src/match/matcher.cpp) for the
 * model checker spin. One sender, whose messages take the ring or the inbox, as chance will have it; a receiver that
 * sleeps when nothing is there; somebody else who matches for it. Checked:
 *   - the receiver gets the sender's messages in their order, each once, and none that was written over;
 *   - it does not sleep for ever while one is there (no invalid end state).
 *
 * The sender's store of a slot's number may be late for the others, as a processor's is, until the fence behind it or
 * a push on the inbox. All other accesses are sequentially consistent here.
 * Run: spin -search tests/model/eager_ring.pml
 */
#ifndef messages
#define messages 3
#endif
#define slots 2
#define receiver 1
#define sender 2
#define other 3

byte slot[slots];             /* EagerSlot: which message it is … */
byte number[slots];           /* … and its number */
byte late;                    /* the number that only the sender knows; 0: none */
byte taken;
byte pushed;                  /* through the ring; the sender's */
byte item[messages];          /* pushed on the inbox: which message it is … */
byte before[messages];        /* … and how many went through the ring before it */
byte items, first;            /* of these, in the inbox: from `first` on */
byte match_lock;              /* Mailbox::match_lock: whose it is */
byte sleepers;
byte received;                /* messages */
bool signalled;                    /* the present sleep is: doorbell.pml */

#define inbox_empty (first == items)
#define fence() late == 0

active proctype memory() {
end:
  do
  :: atomic { late != 0 -> number[(late - 1) % slots] = late; late = 0 }
  od
}

inline match(what) {
  atomic { assert(what == received + 1); received++ }
}

/* eager_rings_have_mail: two loads */
inline look_at_ring() {
  position = taken;
  waits = (number[position % slots] == position + 1)
}

inline take_from_ring() {
  position = taken;
  message = slot[position % slots]; taken = position + 1;
  match(message)
}

inline empty_inbox() {
  do
  :: !inbox_empty ->
     atomic { next = first; first = items; end_of_all = items };  /* take_all */
     do
     :: next < end_of_all ->
        do
        :: taken < before[next] ->  /* take_from_ring_before */
           assert(number[taken % slots] == taken + 1);
           take_from_ring()
        :: else -> break
        od;
        match(item[next]);
        next++
     :: else -> break
     od
  :: inbox_empty ->                 /* take_all_from_rings */
     do
     :: look_at_ring();
        if
        :: waits && inbox_empty -> take_from_ring()
        :: else -> break            /* nothing is there, or an item came before it */
        fi
     od;
     if
     :: inbox_empty -> break
     :: else
     fi
  od
}

inline drain(me) {
  known = received;
  do
  :: atomic { match_lock == 0 -> match_lock = me };
     empty_inbox();
     match_lock = 0;
     look_at_ring();
     if
     :: !inbox_empty || waits       /* once more */
     :: else -> break
     fi
  :: match_lock != 0 -> break
  od;
  if
  :: me != receiver && received != known -> signalled = true
  :: else
  fi;
  atomic { message = 0; position = 0; next = 0; end_of_all = 0; known = 0; waits = false }
}

proctype sends() {
  byte message, position, next, end_of_all, known;
  bool waits;
  byte what = 1;
  byte seen_taken;
  do
  :: what <= messages ->
     if                             /* free_slot */
     :: pushed - seen_taken >= slots -> seen_taken = taken
     :: else
     fi;
     if
     :: pushed - seen_taken < slots ->
        slot[pushed % slots] = what;
        atomic { late == 0 -> pushed++; late = pushed };
        fence()
     :: atomic { late == 0 -> item[items] = what; before[items] = pushed; items++ }
     fi;
     if
     :: sleepers != 0 -> drain(sender)
     :: else
     fi;
     what++
  :: else -> break
  od
}

proctype receives() {
  byte message, position, next, end_of_all, known;
  bool waits;
  byte had;
  do
  :: had = received;
     if
     :: had == messages -> break
     :: else
     fi;
     drain(receiver);
     signalled = false;                  /* begin_sleep */
     sleepers++;
     look_at_ring();
     if
     :: !inbox_empty || waits || received != had
     :: else -> signalled
     fi;
     sleepers--
  od
}

proctype matches_for_it() {
  byte message, position, next, end_of_all, known;
  bool waits;
  drain(other)
}

init {
  atomic {
    run sends();
    run receives();
    run matches_for_it()
  }
}
