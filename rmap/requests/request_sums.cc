#include <algorithm>
#include <iterator>
#include <vector>

#include "rmap/requests/joined_calls.h"

namespace countrace::rmap {

bool Touches(const std::vector<LostTime>& lost, std::uint64_t begin_ns,
             std::uint64_t end_ns) {
  const auto first =
      std::ranges::lower_bound(lost, begin_ns, {}, &LostTime::end_ns);
  return first != lost.end() && first->begin_ns <= end_ns;
}

namespace {

// The call is as it is shown, and of this request, whatever was lost.
bool IsCertain(const Requests& requests, const RequestCall& call) {
  return call.is_sure && (!call.end_inferred || requests.lost.empty());
}
bool HasWaits(const Requests& requests, const RequestCall& call) {
  return call.on_cpu_exact && IsCertain(requests, call) &&
         !Touches(requests.lost_of_cpus, call.begin_ns, call.end_ns);
}

void Add(std::uint64_t value, bool is_exact, std::uint64_t most,
         RequestNumber& number) {
  number.value += value;
  number.least += is_exact ? value : 0;
  number.most += is_exact ? value : most;
}

}  // namespace

bool IsExact(const Requests& requests, const RequestCall& call) {
  return !call.end_inferred && IsCertain(requests, call) &&
         (!requests.has_kernel || HasWaits(requests, call));
}

RequestSums SumsOf(const Requests& requests, std::size_t number) {
  const RequestCall* call = requests.begin(number);
  RequestSums sums{.begin_ns = call->begin_ns, .end_ns = call->begin_ns};
  std::uint64_t sure_begin_ns = ~std::uint64_t{0}, sure_end_ns = 0;
  std::vector<ThreadIndex> threads;
  for (; call != requests.end(number); ++call) {
    if (call->begin_ns > sums.end_ns) {
      sums.between_ns += call->begin_ns - sums.end_ns;
    }
    sums.end_ns = std::max(sums.end_ns, call->end_ns);
    const bool certain = IsCertain(requests, *call);
    const bool waits = HasWaits(requests, *call);
    const std::uint64_t wall_ns = call->end_ns - call->begin_ns;
    Add(call->on_cpu_ns, call->on_cpu_exact && certain, wall_ns,
        sums.on_cpu_ns);
    Add(call->wait_ns, waits, wall_ns, sums.wait_ns);
    Add(call->blocked_ns, waits, wall_ns, sums.blocked_ns);
    const std::uint64_t calls = call->goes_on ? 0 : 1;
    Add(calls, call->is_sure, calls, sums.calls);
    if (call->is_sure) {
      sure_begin_ns = std::min(sure_begin_ns, call->begin_ns);
      sure_end_ns =
          std::max(sure_end_ns, certain ? call->end_ns : call->begin_ns);
    }
    sums.end_inferred |= call->end_inferred;
    if (threads.empty() || threads.back() != call->thread) {
      threads.push_back(call->thread);
    }
  }
  std::ranges::sort(threads);
  sums.threads = static_cast<std::uint32_t>(std::distance(
      threads.begin(), std::unique(threads.begin(), threads.end())));
  const std::uint64_t duration_ns = sums.end_ns - sums.begin_ns;
  sums.duration_ns = {duration_ns, duration_ns, duration_ns};
  sums.may_have_more =
      !requests.lost.empty() || sums.begin_ns <= requests.begun_before_until_ns;
  if (!sums.may_have_more) return sums;
  sums.duration_ns.least = sure_end_ns - std::min(sure_begin_ns, sure_end_ns);
  sums.lost_inside = Touches(requests.lost, sums.begin_ns, sums.end_ns);
  return sums;
}

}  // namespace countrace::rmap
