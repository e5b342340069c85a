// The call paths that one row is for: one path, or, if recursion is folded, all
// that differ only in how often a segment calls itself directly: of a > b > b
// and a > b > b > b the path a > b. Or those of all values.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_PATH_GROUPS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_PATH_GROUPS_H_

#include <vector>

#include "rmap/state/call_paths.h"

namespace countrace::rmap {

struct PathGroup {
  struct Member {
    const PathNode* node;
    // The segment called itself: the time is inside that of another member.
    bool inner;
  };
  std::vector<Member> members;  // all of one segment

  bool single() const { return members.size() == 1; }
  std::uint32_t hook_id() const { return members.front().node->hook_id; }
};

// The groups directly inside `parent`, in order of first call. `fold`:
// recursion; `join`: calls with other values (PathNode::value).
std::vector<PathGroup> GroupsInside(const PathGroup& parent, bool fold,
                                    bool join);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_PATH_GROUPS_H_
