#include "viewer/server/wire/state_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

template <typename Value>
Json OrNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json OpenJson(const std::vector<OpenSegment>& open) {
  Json list = Json::array();
  for (const OpenSegment& segment : open) {
    list.push_back({{"hook", segment.hook_id},
                    {"row", segment.row},
                    {"depth", segment.depth},
                    {"flags", segment.flags},
                    {"begin_ns", segment.begin_ns},
                    {"end_ns", segment.end_ns},
                    {"on_cpu_ns", OrNull(segment.on_cpu_ns)}});
  }
  return list;
}

Json CpuJson(const CpuState& cpu) {
  Json item = {{"cpu", cpu.cpu},
               {"known", cpu.known},
               {"dispatches", cpu.dispatches},
               {"in_interrupt", cpu.in_interrupt},
               {"interrupts", OpenJson(cpu.interrupts)},
               {"interrupts_ns", cpu.interrupts_ns}};
  if (cpu.known) {
    item["thread"] = cpu.thread == kNoKey ? Json(nullptr) : Json(cpu.thread);
    item["flags"] = cpu.flags;
    item["begin_ns"] = cpu.begin_ns;
    item["end_ns"] = cpu.end_ns;
  }
  return item;
}

Json ThreadJson(const ThreadState& thread) {
  Json counts = Json::array();
  for (const ThreadCount& count : thread.counts) {
    counts.push_back({{"count", count.count}, {"estimated", count.estimated}});
  }
  const bool running = thread.state == RunState::kRunning;
  return {{"thread", thread.thread},
          {"state", RunStateName(thread.state)},
          {"cpu", running ? OrNull(thread.cpu) : Json(nullptr)},
          {"last_cpu", OrNull(thread.cpu)},
          {"since_ns", OrNull(thread.since_ns)},
          {"since_inferred", thread.since_inferred},
          {"end_state", thread.end_state},
          {"on_cpu_ns", OrNull(thread.on_cpu_ns)},
          {"wait_ns", OrNull(thread.wait_ns)},
          {"dispatches", thread.dispatches},
          {"recent_ns", thread.recent_ns},
          {"counts", std::move(counts)},
          {"counts_incomplete", thread.counts_incomplete},
          {"bounded", thread.bounded},
          {"open", OpenJson(thread.open)}};
}

}  // namespace

Json StateJson(const InstantState& state) {
  Json cpus = Json::array();
  for (const CpuState& cpu : state.cpus) cpus.push_back(CpuJson(cpu));
  Json threads = Json::array();
  for (const ThreadState& thread : state.threads) {
    threads.push_back(ThreadJson(thread));
  }
  Json events = Json::array();
  for (const EventState& event : state.events) {
    events.push_back({{"count", event.count},
                      {"estimated", event.estimated},
                      {"gap", event.gap},
                      {"rate", OrNull(event.rate)},
                      {"rate_estimated", event.rate_estimated},
                      {"by_cpu", event.by_cpu}});
  }
  return {{"t", state.time_ns},
          {"window_begin_ns", state.window_begin_ns},
          {"cpus", std::move(cpus)},
          {"threads", std::move(threads)},
          {"threads_left_out", state.threads_left_out},
          {"threads_not_shown", state.threads_not_shown},
          {"events", std::move(events)},
          {"losses", state.losses},
          {"in_loss", state.in_loss}};
}

}  // namespace countrace::viewer
