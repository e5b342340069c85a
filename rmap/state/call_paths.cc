#include "rmap/state/call_paths.h"

namespace countrace::rmap {

PathNode* CallPaths::NewNode(PathNode* parent, std::uint32_t hook_id) {
  PathNode& node = nodes_.emplace_back();
  node.hook_id = hook_id;
  node.index = static_cast<std::uint32_t>(nodes_.size() - 1);
  node.parent = parent;
  node.depth = parent == nullptr ? 0 : parent->depth + 1;
  node.dumps.resize(events_);
  return &node;
}

void CallPaths::IncludeChildren() {
  // Reverse order visits children before their parents.
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (node->parent == nullptr) continue;
    node->parent->wait_ns += node->wait_ns;
    node->parent->blocked_ns += node->blocked_ns;
    node->parent->unseen.less.wait_ns += node->unseen.less.wait_ns;
    node->parent->unseen.less.blocked_ns += node->unseen.less.blocked_ns;
  }
}

void CallPaths::KeepCertain(PathNode& root) {
  // An explicit stack: a path can be as deep as kMaxPathDepth.
  std::vector<PathNode*> pending = {&root};
  while (!pending.empty()) {
    PathNode& node = *pending.back();
    pending.pop_back();
    node.certain = std::make_unique<CertainSums>(
        CertainSums{node.calls, node.wall.sum(), node.on_cpu_ns, node.switches,
                    node.faults});
    for (const PathNode::Child& child : node.children) {
      pending.push_back(child.node);
    }
  }
}

PathNode* CallPaths::NewRoot() { return NewNode(nullptr, PathNode::kFolded); }

PathNode* CallPaths::FindHashed(const PathNode* parent,
                                std::uint32_t hook_id) const {
  const auto found = wide_.find(Key(parent, hook_id));
  return found == wide_.end() ? nullptr : found->second;
}

PathNode* CallPaths::FindChild(const PathNode* parent,
                               std::uint32_t hook_id) const {
  if (parent->children.size() > kLinearChildren) {
    return FindHashed(parent, hook_id);
  }
  for (const PathNode::Child& child : parent->children) {
    if (child.hook_id == hook_id) return child.node;
  }
  return nullptr;
}

PathNode* CallPaths::AddChild(PathNode* parent, std::uint32_t hook_id) {
  const bool in_folded =
      parent->parent != nullptr && parent->hook_id == PathNode::kFolded;
  if (in_folded) {
    ++folded_;
    return parent;
  }
  if ((nodes_.size() >= kMaxPaths || parent->depth >= kMaxPathDepth) &&
      hook_id != PathNode::kFolded) {
    ++folded_;
    return Child(parent, PathNode::kFolded);
  }
  PathNode* node = NewNode(parent, hook_id);
  for (const PathNode* up = parent; up->parent != nullptr; up = up->parent) {
    if (up->hook_id == hook_id) {
      node->recursive = true;
      break;
    }
  }
  parent->children.push_back({hook_id, node});
  if (parent->children.size() == kLinearChildren + 1) {
    for (const PathNode::Child& child : parent->children) {
      wide_[Key(parent, child.hook_id)] = child.node;
    }
  } else if (parent->children.size() > kLinearChildren) {
    wide_[Key(parent, hook_id)] = node;
  }
  return node;
}

}  // namespace countrace::rmap
