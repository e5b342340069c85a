#include "rmap/slowest_calls.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace countrace::rmap {
namespace {

bool IsSlower(const SlowCall& a, const SlowCall& b) {
  return std::tuple(b.wall_ns(), a.begin_ns, a.thread) <
         std::tuple(a.wall_ns(), b.begin_ns, b.thread);
}

}  // namespace

void SlowestCalls::ReadValues(std::uint32_t hook_id, bool exit,
                              Values& values) const {
  if (condition_ == nullptr || record_ == nullptr) return;
  if (IsRecordOf(*record_, hook_id, exit)) condition_->Read(*record_, values);
}

std::optional<SlowestCalls::Values> SlowestCalls::Begins(
    const SegmentBegin& begin, const Values* /*inside*/) {
  if (begin.cut || !hooks_.contains(begin.hook_id)) return std::nullopt;
  Values values;
  ReadValues(begin.hook_id, /*exit=*/false, values);
  return values;
}

void SlowestCalls::Ends(SlowCall call, Values values) {
  if (call.begin_ns < range_.from_ns || call.begin_ns >= range_.until_ns) {
    return;
  }
  ReadValues(call.hook_id, /*exit=*/true, values);
  if (condition_ != nullptr && !condition_->Holds(values)) return;
  if (calls_.size() == most_) {
    if (most_ == 0 || !IsSlower(call, calls_.front())) return;
    std::pop_heap(calls_.begin(), calls_.end(), IsSlower);
    calls_.pop_back();
  }
  calls_.push_back(std::move(call));
  std::push_heap(calls_.begin(), calls_.end(), IsSlower);
}

std::vector<SlowCall> SlowestCalls::Take() {
  std::sort_heap(calls_.begin(), calls_.end(), IsSlower);
  return std::move(calls_);
}

}  // namespace countrace::rmap
