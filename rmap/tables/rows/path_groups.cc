#include "rmap/tables/rows/path_groups.h"

#include <algorithm>
#include <cstddef>

namespace countrace::rmap {
namespace {

bool CallsItself(const PathNode& caller, const PathNode& called) {
  // The root of a process is no segment.
  return caller.parent != nullptr && caller.hook_id == called.hook_id;
}

void AddInner(PathGroup& group) {
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const PathNode& node = *group.members[i].node;
    for (const PathNode::Child& child : node.children) {
      if (CallsItself(node, *child.node)) {
        group.members.push_back({child.node, true});
      }
    }
  }
}

}  // namespace

std::vector<PathGroup> GroupsInside(const PathGroup& parent, bool fold,
                                    bool join) {
  std::vector<PathGroup> groups;
  for (const PathGroup::Member& member : parent.members) {
    for (const PathNode::Child& child : member.node->children) {
      if (!fold && !join) {
        groups.push_back({{{child.node, false}}});
        continue;
      }
      if (fold && CallsItself(*member.node, *child.node)) {
        continue;  // in `parent`
      }
      const auto same = std::find_if(
          groups.begin(), groups.end(), [&child](const PathGroup& group) {
            return group.hook_id() == child.node->hook_id;
          });
      if (same == groups.end()) {
        groups.push_back({{{child.node, false}}});
      } else {
        same->members.push_back({child.node, false});
      }
    }
  }
  for (PathGroup& group : groups) {
    if (fold) AddInner(group);
  }
  return groups;
}

}  // namespace countrace::rmap
