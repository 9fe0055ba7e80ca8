// Where a collective changes its way, in bytes, with the reason. Chosen for two cores from what a
// switch and a copy cost there, and few measurements (only the alltoall bound was compared before
// and after); see docs/internals/coll.md.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/heuristics.h"
#include "node/segment.h"

namespace meantime::coll::thresholds {

/// Of what is left out (base/heuristics.h).
inline constexpr std::size_t never = ~std::size_t{0};

/// Of a segment that may not become large, what all deposits of one collective may take. Small
/// parts of it: what lies between small pieces in use is no piece of its own (of 2 MiB, 1.6 were
/// free, 128 KiB in one).
inline std::size_t small_segment() {
  constexpr std::size_t share = 32;
  return node::segment().header().most / share;
}
inline std::size_t within_segment(std::size_t bytes, int members = 1) {
  return std::min(bytes, small_segment() / static_cast<std::size_t>(members));
}

/// One round of a long broadcast, allgather or reduction: what one rank deposits at once. Large
/// enough that a round's switches (0.8 us a rank) cost less than its copies, small enough that the
/// deposits of all ranks stay in the last cache.
inline constexpr std::size_t round = 64 * 1024;
inline std::size_t round_of(int members) {
  return within_segment(round, members);
}
inline std::size_t bcast_round() {
  return within_segment(256 * 1024);
}
/// One rank's deposits for all others in an alltoall, scatter or reduce-scatter: bounded for each
/// rank, and for all ranks together, so that they stay in the last cache and a crowd of ranks does
/// not fill the segment.
inline constexpr std::size_t round_for_all = 1024 * 1024;
inline constexpr std::size_t round_of_all = 16 * 1024 * 1024;
inline std::size_t round_for_all_of(int members) {
  return std::min(round_for_all, within_segment(round_of_all) / static_cast<std::size_t>(members));
}
/// A gathered or scattered block larger than this travels as a message: it is copied once, by
/// whoever has time, instead of twice.
inline std::size_t block_by_message(int members) {
  return within_segment(64 * 1024, members);
}
/// From this size on the blocks of an alltoall are exposed (exposed.h): read once by the kernel, or
/// by thread ranks of one host with memcpy. Measured with 2, 4 and 16 ranks on 2 cores: below, the
/// kernel's work for each block or the second meeting costs more than the copy that is saved.
inline const std::size_t exposed_alltoall = uses(Heuristic::exposed_alltoall) ? 32 * 1024 : never;
inline const std::size_t exposed_alltoall_in_host =
    uses(Heuristic::exposed_alltoall) ? 4 * 1024 : never;
/// From this size on of all that is moved, what an alltoall receives does not go through the caches
/// (stream.h): there is no room for it anyway. Should be the last cache, but a virtual machine
/// tells that of its host (480 MiB). (16 ranks on 2 cores, past the caches and else: processes, 16
/// MiB 1.36 ms and 1.19; threads, 8 MiB 0.44 and 0.29, 16 MiB 0.66 and 0.63, 64 MiB 5.9 and 6.2,
/// 256 MiB 18.3 and 19.9, least of ten, four runs in turns that do not overlap.)
inline constexpr std::size_t past_caches = 32 * 1024 * 1024;
inline bool streams(int members, std::size_t block) {
  const auto all = static_cast<std::size_t>(members);
  return uses(Heuristic::past_caches) && block >= past_caches / all / all;
}
/// Process ranks then expose larger blocks only: the kernel's copies go through the caches. (16
/// ranks on 2 cores, 256 KiB: exposed 11.2 ms, deposits 11.7; 1 MiB: 39 and 44.)
inline const std::size_t exposed_alltoall_past_caches =
    uses(Heuristic::exposed_alltoall) ? 192 * 1024 : never;
/// From this size on of the longest block, thread ranks of one host expose the blocks of an
/// allgather, and read them past the caches. (16 ranks: 64 KiB 0.88 ms, deposits 0.79; 256 KiB 5.3
/// and 6.5; 1 MiB in two sets 19.7 and 21.8, 23.8 and 20.1: no clear difference. 128 KiB was not
/// measured.)
inline const std::size_t exposed_allgather =
    uses(Heuristic::exposed_allgather) ? 128 * 1024 : never;
/// From this size on thread ranks of one host read a broadcast in the root's buffer. Below, the
/// second meeting costs more than the root's copy. (us, old and new in turns, medians of 5 on a
/// busy machine: 4 ranks 256 KiB 34.8 and 32.9, 1 MiB 119 and 93; 16 ranks 128 KiB 88 and 81, 256
/// KiB 61 and 57, 1 MiB 871 and 325; 64 ranks 128 KiB 127 and 153, 256 KiB 327 and 246, 1 MiB 4529
/// and 2291. Past the caches: 1.1 to 3 times as long up to 32 MiB in all, beyond no clear
/// difference.)
inline const std::size_t exposed_bcast = uses(Heuristic::exposed_bcast) ? 256 * 1024 : never;
/// And their blocks of a scatter, from this size on of an average block. (us, in the same way: 4
/// ranks 64 KiB 53.5 and 5.3, 1 MiB 109 and 59; 16 ranks 16 KiB 65 and 7, 64 KiB 215 and 18, 1 MiB
/// 688 and 716; 64 ranks 4 KiB 53 and 17, 64 KiB 303 and 184, 1 MiB 3093 and 3286. 1 KiB and 16
/// ranks still 8 and 4; but then a root that need not wait for anybody may be worth more, and
/// messages of up to 8 KiB leave at once, too.)
inline constexpr std::size_t exposed_scatter = 8 * 1024;
/// Of a long reduction whose inputs are exposed: what each member gives; the results of all, in
/// deposits, are as much.
inline std::size_t exposed_round() {
  return within_segment(1024 * 1024);
}
/// Up to this many bytes of all ranks together (and one round a rank) one member reduces alone: the
/// last to arrive, or in a reduce the root. Above, all meet a second time so that each can reduce a
/// part.
inline std::size_t reduce_alone() {
  return within_segment(256 * 1024);
}
/// From this size on of a member's share, a reduction by messages (non-blocking, persistent) is
/// split. Measured at 16 KiB and more (docs/measurements/collectives.md); below, 2 n (n - 1)
/// messages cost more than a root that does it all.
inline constexpr std::size_t share_by_message = 16 * 1024;

// Over several nodes, in two steps (by_nodes/by_nodes.h). Process ranks on 2 busy cores, nodes
// played by mpiexec, TCP; us, messages between ranks and two steps in turns, medians of 5 to 15. At
// once: blocking; scheduled: not, or persistent, each waited for at once. (If all ranks compute for
// 200 us before they wait, what is left is what it was or shorter: 8 ranks on 2 nodes, 8 bytes,
// allgather 1554 and 933, alltoall 1512 and 926, allreduce 1097 and 929, bcast 1290 and 1163;
// gather and scatter no clear difference. Thread ranks gain likewise: 8 on 2, 1 KiB, allgather 199
// and 21, alltoall 291 and 60, bcast 109 and 17, allreduce 85 and 48.)

/// From so many ranks on an average node on. An allgather and an alltoall gain with two (4
/// ranks on 2 nodes, 1 KiB: 93 and 85, 95 and 87; 8 on 4: 1118 and 663, 648 and 382), little or
/// nothing with one (4 on 4: 294 and 277, 409 and 367; 8 KiB 310 and 298, 445 and 452), and
/// scheduled ones likewise (4 on 2, 8 bytes: 122 and 49, 119 and 44; 4 on 4, 1 KiB: 231 and 236; 4
/// KiB 153 and 162); a reduction that is scheduled loses with one (4 on 4, 1 KiB: to roots in turn
/// 40 and 48, to all 223 and 238).
inline constexpr int ranks_to_exchange = 2;
/// Of all blocks of an allgather: ranks whose blocks do not lie in the order of nodes have memory
/// for them. Nothing more was measured; there is no end to the gain. (8 ranks on 2 nodes: 64 KiB a
/// rank 1371 and 380, 1 MiB 11742 and 7744; 16 on 4: 64 KiB 7995 and 2670, 1 MiB 51923 and 29859.
/// Scheduled, 8 on 2: 1 KiB 1242 and 180, 64 KiB 3024 and 967, 256 KiB 7451 and 4318; 12 on 4: 2224
/// and 542, 7945 and 3135, 14269 and 7657.)
inline constexpr std::size_t allgather_by_nodes = 16 * 1024 * 1024;
/// Ranks on an average node, and bytes of all blocks of the largest node, in a gather or scatter.
struct GatherByNodes {
  int ranks_a_node;
  std::size_t of_node;
};
/// A gather's senders need not wait in messages. It gains or loses with two ranks a node (8 on 4, 1
/// KiB: 139 and 125 to roots in turn, 36 and 39 to one; 4 on 2: 43 and 36, 16 and 69; 7 on 3: 54
/// and 60, 22 and 41) and gains with three (6 on 2: 47 and 21, 22 and 11; 12 on 4: 175 and 46, 39
/// and 36), a scatter as well (7 on 3: 85 and 57, 30 and 47; 6 on 2: 37 and 25, 17 and 8; 12 on 4:
/// 124 and 53, 61 and 33). Each block is copied twice more than in a message. (To, and from, roots
/// in turn: 8 on 2, 8 KiB a rank 94 and 40, 38 and 28; 16 KiB 98 and 58, 47 and 63; 32 KiB 183 and
/// 244, 68 and 154. 12 on 4, 16 KiB 233 and 140, 201 and 117; 32 KiB 408 and 469, 367 and 412. 16
/// on 2, 4 KiB 293 and 159, 211 and 59. To one root 16 on 2 lose at 8 KiB, 146 and 190.)
inline constexpr GatherByNodes gather_at_once{3, 48 * 1024};
/// Nobody waits in either way, so two are enough. (Gathers to, and scatters from, roots in turn: 4
/// on 2, 8 bytes 51 and 40, 40 and 28; 8 on 4, 1 KiB 274 and 158, 169 and 129; 8 KiB 190 and 169,
/// 176 and 156. 8 on 2, 1 KiB 77 and 53, 40 and 34; 4 KiB 29 and 30, 44 and 50; 16 KiB 101 and 111,
/// 60 and 119. 12 on 4, 4 KiB 188 and 119, 291 and 213. To, and from, one root: 8 on 2, 1 KiB 25
/// and 9, 54 and 21; 16 KiB 57 and 102, 128 and 82. 16 on 2, 1 KiB 34 and 20, 125 and 42; 4 KiB 38
/// and 45, 209 and 111; 8 KiB 49 and 104, 259 and 187. Thread ranks, 8 on 2, roots in turn: 1 KiB
/// 39 and 29, 40 and 32; 4 KiB 45 and 61, 49 and 34.)
inline constexpr GatherByNodes gather_scheduled{2, 8 * 1024};
/// Of a block of a gatherv or scatterv that goes by the speakers, and of those of the largest node,
/// all in its first rank's memory. A longer one is a message, so what it loses is that its length
/// goes by them. (Gathers to, and scatters from, roots in turn, on a very busy machine: 8 on 2, 8
/// bytes 108 and 34, 106 and 33; 8 KiB 119 and 65, 66 and 66; 12 KiB 119 and 72, 62 and 70. 12 on
/// 4, 8 bytes 236 and 90, 184 and 70; 8 KiB 280 and 134, 234 and 125; 12 KiB 277 and 175, 241 and
/// 140; 16 KiB, longer, 270 and 244, 302 and 277; if it went by them gathers 343. Scheduled, 8 on
/// 2, 8 bytes 122 and 56, 33 and 56; 4 KiB 226 and 137, 160 and 107; 12 KiB 185 and 123, 240 and
/// 146; longer, 16 KiB 217 and 207, 219 and 239, another time 120 and 152; 64 KiB 269 and 284. 12
/// on 4, 8 bytes 201 and 121, 266 and 162; 8 KiB 353 and 216, 317 and 222. With two ranks a node
/// scheduled scatters gain, 8 on 4, 8 bytes 193 and 78, but gathers little, 151 and 143, and longer
/// ones lose, 16 KiB 198 and 308. Thread ranks, 8 on 2, less busy: 8 bytes 26 and 9, 21 and 8; 4
/// KiB 34 and 12, 25 and 12; 12 KiB 40 and 44, 32 and 24; longer, 16 KiB 45 and 58, 34 and 43;
/// scheduled 24 and 12, 22 and 11; 39 and 18, 31 and 14; 38 and 30, 38 and 36; longer 56 and 47, 38
/// and 44.)
inline constexpr std::size_t short_by_nodes = 12 * 1024;
inline constexpr std::size_t short_of_node = 48 * 1024;
/// Of a block of an alltoall; of an alltoallv or alltoallw a longer one is a message. (8 on 2: 1
/// KiB 172 and 51, 4 KiB 194 and 179, 8 KiB 174 and 212; 16 on 4: 1 KiB 1525 and 216, 4 KiB 1648
/// and 523, 8 KiB 1840 and 1723; 16 on 2: 8 KiB 1654 and 1001, 64 KiB 11347 and 126580. Scheduled,
/// 4 on 2: 1 KiB 179 and 56, 4 KiB 161 and 100, 8 KiB 146 and 189; 8 on 4: 1 KiB 698 and 385, 4 KiB
/// 793 and 429; 16 on 2: 1 KiB 2210 and 645, 4 KiB 2813 and 899, 8 KiB 3893 and 1401. Alltoallv, on
/// a very busy machine, 8 on 2: 8 bytes 575 and 146, 2 KiB 558 and 182, 4 KiB 560 and 425; longer,
/// 8 KiB 756 and 434, 64 KiB 2385 and 2351. 8 on 4: 820 and 499, 773 and 393, 782 and 786; 1087 and
/// 1103, 16 KiB 1010 and 1286. 16 on 4: 8 bytes 2358 and 392, 4 KiB 2432 and 2554. Scheduled, 8 on
/// 2: 612 and 97, 653 and 194, 648 and 631; 808 and 880, 2380 and 2397. 8 on 4: 708 and 370, 850
/// and 427, 846 and 474; 952 and 1198. 16 on 4: 2979 and 501, 4 KiB 2904 and 1995. Thread ranks, 8
/// on 2, less busy: 8 bytes 114 and 16, 4 KiB 145 and 136; longer, 12 KiB 191 and 206, 16 KiB 247
/// and 211; scheduled 115 and 21, 184 and 165; 257 and 248, 288 and 242.)
inline constexpr std::size_t alltoall_by_nodes = 4 * 1024;
/// And of all those from its largest node: its first rank has memory for four times as much. (More
/// was not measured.)
inline constexpr std::size_t alltoall_of_node = 1024 * 1024;
/// Of a block for each of a grid's neighbours, of which there are four. (8 on 2: 8 bytes 63 and 26,
/// 2 KiB 83 and 45, 4 KiB 73 and 65; 8 on 4, 158 and 108, 174 and 153, 172 and 166; 12 on 4, 178
/// and 85, 233 and 100, 148 and 142; 16 on 4, 424 and 132, 409 and 149, 436 and 169. Scheduled, 8
/// on 2, 66 and 35, 68 and 53, 74 and 95; 8 on 4, 157 and 137, 175 and 171, 175 and 232; 16 on 4,
/// 515 and 144, 465 and 180, 467 and 231. Thread ranks, 16 on 2, 118 and 18, 84 and 36, 88 and 52;
/// 32 on 4, 298 and 147, 403 and 201, 383 and 219; scheduled, 70 and 21, 81 and 38, 87 and 74; 378
/// and 177, 454 and 205, 391 and 285.)
inline constexpr std::size_t neighbours_by_nodes = 2 * 1024;
/// Of one rank's value in a reduction: those of all travel. (To roots in turn, and to all: 8 on 2,
/// 8 KiB 112 and 64, 197 and 75; 16 KiB 131 and 106, 252 and 125; 32 KiB 210 and 337, 244 and 266.
/// 16 on 4, 8 KiB 243 and 173, 746 and 454; 16 KiB 404 and 358, 633 and 595; 32 KiB 799 and 785,
/// 1153 and 1542. Against that, 8 on 4 to all, 16 KiB 414 and 590. If each rank joined a share,
/// which it got in an alltoallv and gave in a gatherv or allgather, longer ones would be slower
/// yet: 8 on 2, 32 KiB 158 and 444, 392 and 494; 1 MiB 2133 and 6805, 5565 and 6706; scheduled 172
/// and 465, 145 and 557. To all, at once, 128 KiB 2136 and 902, 256 KiB 3073 and 1992.)
inline constexpr std::size_t value_at_once = 16 * 1024;
/// (8 on 2, 1 KiB 132 and 67, 144 and 128; 8 KiB 154 and 105, 158 and 156; 16 KiB 195 and 204, 197
/// and 277. 8 on 4, 1 KiB 254 and 220, 272 and 232; 8 KiB 222 and 186, 401 and 419; 16 KiB 208 and
/// 266, 383 and 444. 16 on 4, 8 KiB 507 and 347, 856 and 723.)
inline constexpr std::size_t value_scheduled = 8 * 1024;
/// And of all values together. (More was not measured.)
inline constexpr std::size_t values_by_nodes = 256 * 1024;
/// To how many nodes but one a node gives a broadcast at a time, counted as in a number with this
/// base. (4 and 2, roots in turn, 8 on 4: 8 bytes 157 and 177, 8 KiB 186 and 241, 256 KiB 1310 and
/// 1384, scheduled 136 and 169, 175 and 210, 833 and 949; 12 on 4: 56 and 59, 88 and 97, 549 and
/// 646. More was not measured.)
inline constexpr int bcast_base = 4;

}  // namespace meantime::coll::thresholds
