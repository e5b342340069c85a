#include "rmap/samples/rows/call_tree.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/text/glob.h"
#include "rmap/samples/names/code_places.h"
#include "rmap/samples/sums/sampled_amount.h"

namespace countrace::rmap {
namespace {

struct Node {
  std::uint32_t event = 0, group = 0, parent = 0, place = 0, depth = 0;
  SampleWeight self, total;
  std::vector<std::uint32_t> children;
};

class TreeBuilder {
 public:
  TreeBuilder(const Samples& samples, const CallTreeRequest& request)
      : samples_(samples),
        request_(request),
        places_(samples, SampleBy::kFunction),
        events_(EmptyTotals(samples)) {
    nodes_.emplace_back();  // above the outermost frames of all events
  }

  SampleTable Build() {
    places_.Expect(request_.choice.chosen);
    for (const SampleSum& sum : samples_.sums) {
      if (!request_.choice.Has(sum.context)) continue;
      events_[sum.event].Add(sum, samples_);
      Add(sum);
    }
    SampleTable tree;
    Emit(0, tree);
    tree.messages = places_.messages();
    return tree;
  }

 private:
  bool Matches(std::uint32_t place) {
    if (place >= matches_.size()) matches_.resize(place + 1, -1);
    if (matches_[place] < 0) {
      matches_[place] = base::GlobMatches(request_.function.c_str(),
                                          places_[place].function.c_str())
                            ? 1
                            : 0;
    }
    return matches_[place] == 1;
  }

  void Add(const SampleSum& sum) {
    path_.clear();  // innermost first
    for (std::uint32_t frame = sum.frame; frame != 0;
         frame = samples_.frames[frame].parent) {
      const std::vector<std::uint32_t>& chain = places_.Of(frame);
      path_.insert(path_.end(), chain.begin(), chain.end());
    }
    if (path_.empty()) path_ = places_.Of(0);
    if (request_.fold_recursion) {
      path_.erase(std::unique(path_.begin(), path_.end()), path_.end());
    }
    const auto named = [this](std::uint32_t place) { return Matches(place); };
    auto begin = path_.begin(), end = path_.end();
    if (!request_.function.empty()) {
      if (request_.callers) {
        begin = std::find_if(path_.begin(), path_.end(), named);
        if (begin == path_.end()) return;
      } else {
        const auto outermost =
            std::find_if(path_.rbegin(), path_.rend(), named);
        if (outermost == path_.rend()) return;
        end = outermost.base();
      }
    }
    std::uint32_t at = 0;
    if (request_.callers) {
      for (auto place = begin; place != end; ++place) {
        at = Descend(sum, at, *place);
        // The samples are of the function that the tree begins at.
        if (place == begin) nodes_[at].self.Add(sum, samples_);
      }
      return;
    }
    while (end != begin) at = Descend(sum, at, *--end);
    nodes_[at].self.Add(sum, samples_);
  }

  std::uint32_t Descend(const SampleSum& sum, std::uint32_t parent,
                        std::uint32_t place) {
    const std::uint32_t group = request_.choice.GroupOf(sum.context);
    const auto [found, added] =
        children_.try_emplace({sum.event, group, parent, place},
                              static_cast<std::uint32_t>(nodes_.size()));
    if (added) {
      Node node;
      node.event = sum.event;
      node.group = group;
      node.parent = parent;
      node.place = place;
      node.depth = parent == 0 ? 0 : nodes_[parent].depth + 1;
      nodes_[parent].children.push_back(found->second);
      nodes_.push_back(std::move(node));
    }
    nodes_[found->second].total.Add(sum, samples_);
    return found->second;
  }

  // A stack has at most 127 frames of user code and as many of the kernel, and
  // each has at most 200 inlined functions.
  void Emit(std::uint32_t number, SampleTable& tree) {
    std::vector<std::uint32_t> children = nodes_[number].children;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> groups;
    for (const std::uint32_t child : children) {
      const Node& node = nodes_[child];
      groups[{node.event, node.group}] += node.total.periods;
    }
    const auto order = [&](std::uint32_t child) {
      const Node& node = nodes_[child];
      // The largest first.
      return std::tuple(node.event, ~groups[{node.event, node.group}],
                        node.group, ~node.total.periods);
    };
    std::stable_sort(children.begin(), children.end(),
                     [&order](std::uint32_t a, std::uint32_t b) {
                       return order(a) < order(b);
                     });
    for (const std::uint32_t child : children) {
      const Node& node = nodes_[child];
      const SampleTotal& all = events_[node.event];
      SampleRow row;
      row.total = AmountOf(node.total, all);
      if (row.total.share < request_.least_share) {
        ++tree.left_out;
        continue;
      }
      row.event = node.event;
      row.group = node.group;
      row.depth = node.depth;
      row.function = places_[node.place].function;
      row.inlined = places_[node.place].inlined;
      row.dso = CodeFileName(places_[node.place].dso);
      row.self = AmountOf(node.self, all);
      tree.rows.push_back(std::move(row));
      Emit(child, tree);
    }
  }

  struct Key {
    std::uint32_t event, group, parent, place;
    auto operator<=>(const Key&) const = default;
  };
  const Samples& samples_;
  const CallTreeRequest& request_;
  CodePlaces places_;
  std::vector<SampleTotal> events_;
  std::vector<Node> nodes_;
  std::map<Key, std::uint32_t> children_;
  std::vector<std::int8_t> matches_;  // by place; -1: not compared yet
  std::vector<std::uint32_t> path_;
};

}  // namespace

SampleTable MakeCallTree(const Samples& samples,
                         const CallTreeRequest& request) {
  return TreeBuilder(samples, request).Build();
}

}  // namespace countrace::rmap
