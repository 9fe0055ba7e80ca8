// Who may use which tags. Users have the tags up to MPI_TAG_UB of a communicator's point-to-point
// context. On its collective one:
//   0 … highest_user_tag             collectives, which take what lies below making_tags
//   creation of groups and leaders   calls that bring a tag of the user's, or a string, with them:
//                                    each kind has its own range, so that they cannot meet
#pragma once

namespace meantime::core {

inline constexpr int highest_user_tag = (1 << 29) - 1;

inline constexpr int making_tags =
    highest_user_tag - 63;                   ///< making of communicators without a tag
inline constexpr int group_tags = 1 << 29;   ///< + tag of MPI_Comm_create_group
inline constexpr int leader_tags = 1 << 30;  ///< + tag of MPI_Intercomm_create
inline constexpr int string_tags = (1 << 30) + (1 << 29);  ///< + hash of a string tag, on the world

}  // namespace meantime::core
