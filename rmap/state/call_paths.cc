#include "rmap/state/call_paths.h"

#include <algorithm>
#include <utility>

namespace countrace::rmap {
namespace {

// Makes room in the calls of `node` for those inside it, and takes out what has
// none. A gap ended calls that others followed, or records are missing without
// a word: the calls inside have more. Or a record shows a thread in code while
// it seemed to wait or to be blocked.
void FitTimes(PathNode& node) {
  std::uint64_t inner_wall_ns = 0, inner_on_cpu_ns = 0;
  std::uint64_t inner_wait_ns = 0, inner_blocked_ns = 0;
  for (const PathNode::Child& child : node.children) {
    inner_wall_ns += child.node->wall_ns();
    inner_on_cpu_ns += child.node->on_cpu_ns;
    inner_wait_ns += child.node->wait_ns;
    inner_blocked_ns += child.node->blocked_ns;
  }
  if (inner_wall_ns > node.wall_ns()) {
    const std::uint64_t more_ns = inner_wall_ns - node.wall_ns();
    node.cut_wall_ns += more_ns;
    node.unseen.Write().less_ns += more_ns;
    node.unseen.Write().calls += node.calls;
  }
  if (inner_on_cpu_ns > node.on_cpu_ns) {
    node.unseen.Write().less_ns += inner_on_cpu_ns - node.on_cpu_ns;
    node.on_cpu_ns = inner_on_cpu_ns;
  }
  const std::uint64_t wall_ns = node.wall_ns() - inner_wall_ns;
  const std::uint64_t off_cpu_ns =
      wall_ns - std::min(wall_ns, node.on_cpu_ns - inner_on_cpu_ns);
  const std::uint64_t wait_ns =
      std::min(node.wait_ns - inner_wait_ns, off_cpu_ns);
  const std::uint64_t blocked_ns =
      std::min(node.blocked_ns - inner_blocked_ns, off_cpu_ns - wait_ns);
  const std::uint64_t over_ns = node.wait_ns - inner_wait_ns - wait_ns +
                                node.blocked_ns - inner_blocked_ns - blocked_ns;
  if (over_ns == 0) return;
  node.wait_ns = inner_wait_ns + wait_ns;
  node.blocked_ns = inner_blocked_ns + blocked_ns;
  node.DoubtState(over_ns);
}

}  // namespace

void DumpSum::AddCall(ThreadIndex thread, std::uint32_t turn,
                      std::uint32_t turns_in_round,
                      std::optional<std::uint64_t> count) {
  Sliced& all = WriteSliced();
  auto& [round, before] = all.last[thread];
  const std::uint32_t number = turn / turns_in_round;
  const bool new_turn = round.second.x != 0 && round.turn != turn;
  // More than two slices in a round: an older runtime drew the sets.
  if (round.number != number || (count && new_turn && round.first.x != 0)) {
    all.slices.Add(before.first, before.second);
    before = round;
    round = {number, turn, {}, {}, 0};
  } else if (count && new_turn) {
    round.first = std::exchange(round.second, Slice());
  }
  ++round.calls;
  if (!count) return;
  round.turn = turn;
  ++round.second.x;
  round.second.y += *count;
  all.most = std::max(all.most, *count);
}

CallSlices DumpSum::Calls(std::uint64_t calls) const {
  CallSlices all;
  all.calls = calls;
  if (sliced == nullptr) return all;
  all.earlier = sliced->slices;
  all.most = sliced->most;
  for (const auto& [thread, rounds] : sliced->last) {
    for (const Sliced::Round& round : {rounds.first, rounds.second}) {
      all.last.Add(round.first, round.second);
      all.last_calls += round.calls;
    }
  }
  return all;
}

PathNode* CallPaths::NewNode(PathNode* parent, std::uint32_t key) {
  PathNode& node = *nodes_.emplace_back(std::make_unique<PathNode>());
  node.hook_id = key & ((1u << kHookBits) - 1);
  node.value = key >> kHookBits;
  node.index = static_cast<std::uint32_t>(nodes_.size() - 1);
  node.parent = parent;
  node.depth = parent == nullptr ? 0 : parent->depth + 1;
  node.dumps.resize(events_);
  return &node;
}

void CallPaths::IncludeChildren() {
  // Reverse order visits children before their parents.
  for (auto at = nodes_.rbegin(); at != nodes_.rend(); ++at) {
    PathNode* const node = at->get();
    if (node->parent == nullptr) continue;
    FitTimes(*node);
    node->parent->wait_ns += node->wait_ns;
    node->parent->blocked_ns += node->blocked_ns;
  }
}

void CallPaths::ForgetSums() {
  folded_ = 0;
  for (const std::unique_ptr<PathNode>& at : nodes_) {
    PathNode& node = *at;
    PathNode path;
    path.hook_id = node.hook_id;
    path.value = node.value;
    path.index = node.index;
    path.depth = node.depth;
    path.parent = node.parent;
    path.recursive = node.recursive;
    path.left_unseen = node.left_unseen;
    path.children = std::move(node.children);
    path.dumps.resize(events_);
    // Nothing is certain of the paths of later calls.
    if (node.certain != nullptr) path.certain = std::make_unique<CertainSums>();
    node = std::move(path);
  }
}

void CallPaths::DropUnused() {
  std::vector<bool> used(nodes_.size());
  // Reverse order visits children before their parents.
  for (auto at = nodes_.rbegin(); at != nodes_.rend(); ++at) {
    PathNode* const node = at->get();
    std::erase_if(node->children, [&](const PathNode::Child& child) {
      return !used[child.node->index];
    });
    used[node->index] = !node->children.empty() || node->calls != 0 ||
                        node->begin_inferred != 0 || node->wall_ns() != 0 ||
                        node->wait_ns + node->blocked_ns != 0;
  }
}

void CallPaths::KeepCertain(PathNode& root) {
  // An explicit stack: a path can be as deep as kMaxPathDepth.
  std::vector<PathNode*> pending = {&root};
  while (!pending.empty()) {
    PathNode& node = *pending.back();
    pending.pop_back();
    node.certain = std::make_unique<CertainSums>(
        CertainSums{node.calls, node.wall_ns(), node.on_cpu_ns, node.switches,
                    node.faults});
    for (const PathNode::Child& child : node.children) {
      pending.push_back(child.node);
    }
  }
}

void CallPaths::Release(PathNode& root) {
  std::vector<PathNode::Child> pending = std::move(root.children);
  root.children.clear();
  while (!pending.empty()) {
    PathNode* const node = pending.back().node;
    pending.pop_back();
    pending.insert(pending.end(), node->children.begin(), node->children.end());
    nodes_[node->index].reset();
  }
}

PathNode* CallPaths::NewRoot() { return NewNode(nullptr, PathNode::kFolded); }

PathNode* CallPaths::FindHashed(const PathNode* parent,
                                std::uint32_t key) const {
  const auto found = wide_.find(Key(parent, key));
  return found == wide_.end() ? nullptr : found->second;
}

PathNode* CallPaths::FindChild(const PathNode* parent,
                               std::uint32_t hook_id) const {
  if (parent->children.size() > kLinearChildren && with_value_ == 0) {
    return FindHashed(parent, hook_id);
  }
  for (const PathNode::Child& child : parent->children) {
    if (child.node->hook_id == hook_id) return child.node;
  }
  return nullptr;
}

PathNode* CallPaths::AddChild(PathNode* parent, std::uint32_t key) {
  const std::uint32_t hook_id = key & ((1u << kHookBits) - 1);
  const std::uint32_t value = key >> kHookBits;
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
  if (value > PathNode::kOtherValue && with_value_ >= kMaxValuePaths) {
    return Child(parent, KeyOf(hook_id, PathNode::kOtherValue));
  }
  with_value_ += value != 0 ? 1 : 0;
  PathNode* node = NewNode(parent, key);
  for (const PathNode* up = parent; up->parent != nullptr; up = up->parent) {
    if (up->hook_id == hook_id) {
      node->recursive = true;
      break;
    }
  }
  parent->children.push_back({key, node});
  if (parent->children.size() == kLinearChildren + 1) {
    for (const PathNode::Child& child : parent->children) {
      wide_[Key(parent, child.key)] = child.node;
    }
  } else if (parent->children.size() > kLinearChildren) {
    wide_[Key(parent, key)] = node;
  }
  return node;
}

}  // namespace countrace::rmap
