#include "viewer/server/wire/wait_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "rmap/result/tables.h"

namespace countrace::viewer {

using Json = nlohmann::json;

Json WaitJson(std::uint64_t thread, const WaitSplit& split) {
  const auto key = [](std::uint32_t number) {
    return number == kNoKey ? Json(nullptr) : Json(number);
  };
  const ThreadStretch& stretch = split.stretch;
  const bool blocked = (stretch.flags & kStateBlocked) != 0;
  Json holders = Json::array();
  for (const CpuHolder& holder : split.holders) {
    holders.push_back({{"thread", holder.thread}, {"ns", holder.ns}});
  }
  return {{"found", true},
          {"thread", thread},
          {"state", blocked ? "blocked" : "waiting"},
          {"begin_ns", stretch.range.begin_ns},
          {"end_ns", stretch.range.end_ns},
          {"call", blocked ? key(stretch.key) : Json(nullptr)},
          {"woken_by", split.waker_kind
                           ? Json(rmap::WakerKindName(*split.waker_kind))
                           : Json(nullptr)},
          {"waker", key(split.waker)},
          {"preempted_by", key(split.preempted_by)},
          {"cpu", split.cpu ? Json(*split.cpu) : Json(nullptr)},
          {"holders", std::move(holders)},
          {"others_ns", split.others_ns},
          {"idle_ns", split.idle_ns},
          {"throttled_ns", split.throttled_ns},
          {"outside_ns", split.outside_ns},
          {"unknown_ns", split.unknown_ns},
          {"interrupts_ns", split.interrupts_ns}};
}

Json DurationsJson(std::uint64_t process, std::uint64_t hook,
                   const CallDurations& durations) {
  const auto call = [](const TimedCall& one) -> Json {
    if (one.thread == kNoKey) return nullptr;
    return {{"thread", one.thread},
            {"begin_ns", one.range.begin_ns},
            {"end_ns", one.range.end_ns}};
  };
  Json buckets = Json::array();
  for (const DurationBucket& bucket : durations.buckets) {
    buckets.push_back({{"from_ns", bucket.from_ns},
                       {"to_ns", bucket.to_ns},
                       {"calls", bucket.calls}});
  }
  return {{"process", process},         {"hook", hook},
          {"calls", durations.calls},   {"min", call(durations.min)},
          {"p50", call(durations.p50)}, {"p99", call(durations.p99)},
          {"max", call(durations.max)}, {"buckets", std::move(buckets)}};
}

}  // namespace countrace::viewer
