// `countrace state` as JSON: names instead of the index's numbers, times on
// CLOCK_MONOTONIC, a quality for each count.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "viewer/state/state_page.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Json OrNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string Dump(const Json& json, int indent) {
  // Names may hold any bytes.
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

class PageWriter {
 public:
  PageWriter(const TimelineIndex& index, const StatePage& page)
      : index_(index),
        state_(page.state),
        page_(page),
        events_(EventNames(index)) {}

  Json Write() const {
    Json json;
    json["t_ns"] = Absolute(state_.time_ns);
    json["offset_ns"] = state_.time_ns;
    if (page_.step) json["step"] = DescribeStep(index_, *page_.step);
    Json& cpus = json["cpus"] = Json::array();
    for (const CpuState& cpu : state_.cpus) cpus.push_back(Cpu(cpu));
    Json& threads = json["threads"] = Json::array();
    for (const ThreadState& thread : state_.threads) {
      threads.push_back(Thread(thread));
    }
    json["threads_not_shown"] =
        state_.threads_not_shown + state_.threads_left_out;
    Json& counted = json["events"] = Json::object();
    for (std::size_t i = 0; i < state_.events.size(); ++i) {
      counted[events_[i]] = Event(state_.events[i]);
    }
    json["rate_window_ns"] =
        std::min(state_.time_ns, index_.duration_ns()) - state_.window_begin_ns;
    Json& near = json["near"] = Json::object();
    for (const NearSteps& steps : page_.near) {
      near[steps.kind] = {
          {"previous_ns", steps.previous
                              ? Json(Absolute(steps.previous->time_ns))
                              : Json(nullptr)},
          {"next_ns",
           steps.next ? Json(Absolute(steps.next->time_ns)) : Json(nullptr)}};
    }
    Json& losses = json["losses"] = Json::array();
    for (const std::uint32_t number : state_.losses) {
      losses.push_back(Loss(index_.losses()[number]));
    }
    json["in_loss"] = state_.in_loss;
    return json;
  }

 private:
  std::uint64_t Absolute(std::uint64_t time_ns) const {
    return index_.header().begin_ns + time_ns;
  }

  void AddWho(std::uint32_t thread, Json& json) const {
    if (thread >= index_.threads().size()) return;
    const ThreadEntry& entry = index_.threads()[thread];
    json["tid"] = entry.tid;
    json["pid"] = entry.pid;
    json["comm"] = index_.Text(entry.comm);
  }

  Json Open(const std::vector<OpenSegment>& open) const {
    Json list = Json::array();
    for (const OpenSegment& call : open) {
      const bool inferred =
          (call.flags & (kLeafBeginInferred | kLeafDisplaced)) != 0;
      list.push_back({{"segment", HookName(index_, call.hook_id)},
                      {"begin_ns", Absolute(call.begin_ns)},
                      {"inside_ns", state_.time_ns - call.begin_ns},
                      {"on_cpu_ns", OrNull(call.on_cpu_ns)},
                      {"quality", inferred ? "inferred" : "exact"}});
    }
    return list;
  }

  Json Cpu(const CpuState& cpu) const {
    Json json;
    json["cpu"] = cpu.cpu;
    json["account"] = !cpu.known                        ? "unknown"
                      : cpu.in_interrupt                ? "interrupts"
                      : (cpu.flags & kLeafIdle) != 0    ? "idle"
                      : (cpu.flags & kLeafOutside) != 0 ? "outside"
                                                        : "processes";
    if (cpu.known) {
      AddWho(cpu.thread, json);
      json["since_ns"] = Absolute(cpu.begin_ns);
      json["until_ns"] = Absolute(cpu.end_ns);
      json["quality"] =
          (cpu.flags & kLeafBeginInferred) != 0 ? "inferred" : "exact";
    }
    json["interrupts"] = Open(cpu.interrupts);
    json["interrupts_ns"] = cpu.interrupts_ns;
    Json& counts = json["counts"] = Json::object();
    for (std::size_t i = 0; i < state_.counter_cpus.size(); ++i) {
      if (state_.counter_cpus[i] != cpu.cpu) continue;
      for (std::size_t event = 0; event < state_.events.size(); ++event) {
        counts[events_[event]] =
            static_cast<std::uint64_t>(state_.events[event].by_cpu[i]);
      }
    }
    return json;
  }

  static const char* QualityOf(const ThreadState& thread,
                               const ThreadCount& count) {
    if (thread.counts_incomplete) return "bounded";
    if (count.estimated) return "inferred";
    return thread.bounded ? "bounded" : "exact";
  }

  Json Thread(const ThreadState& thread) const {
    Json json;
    AddWho(thread.thread, json);
    json["state"] = RunStateName(thread.state);
    json["cpu"] = OrNull(thread.cpu);
    json["since_ns"] =
        thread.since_ns ? Json(Absolute(*thread.since_ns)) : Json(nullptr);
    json["quality"] = thread.since_inferred ? "inferred" : "exact";
    json["on_cpu_ns"] = OrNull(thread.on_cpu_ns);
    json["wait_ns"] = OrNull(thread.wait_ns);
    json["dispatches"] = thread.dispatches;
    Json& counts = json["counts"] = Json::object();
    for (std::size_t i = 0; i < thread.counts.size(); ++i) {
      counts[events_[i]] = {{"count", thread.counts[i].count},
                            {"quality", QualityOf(thread, thread.counts[i])}};
    }
    json["segments"] = Open(thread.open);
    AddQualities(thread, json);
    return json;
  }

  // As in a report's rows.
  static void AddQualities(const ThreadState& thread, Json& json) {
    bool inferred = thread.since_inferred;
    for (const ThreadCount& count : thread.counts) inferred |= count.estimated;
    Json qualities = Json::array();
    if (thread.bounded || thread.counts_incomplete) {
      qualities.push_back("bounded");
    }
    if (inferred) qualities.push_back("inferred");
    if (!qualities.empty()) json["qualities"] = qualities;
  }

  static Json Event(const EventState& event) {
    Json json = {{"count", static_cast<std::uint64_t>(event.count)},
                 {"quality", event.gap         ? "bounded"
                             : event.estimated ? "inferred"
                                               : "exact"},
                 {"rate_per_s", OrNull(event.rate)},
                 {"rate_quality", event.rate_estimated ? "inferred" : "exact"}};
    if (event.gap || event.estimated) {
      json["bounds"] = {event.limits.lo, event.limits.hi == kUnknownTime
                                             ? Json(nullptr)
                                             : Json(event.limits.hi)};
    }
    return json;
  }

  Json Loss(const LossEntry& loss) const {
    Json json;
    if (loss.cpu >= 0) json["cpu"] = loss.cpu;
    if (loss.cpu < 0) AddWho(loss.thread, json);
    json["begin_ns"] = Absolute(loss.begin_ns);
    json["end_ns"] = Absolute(loss.end_ns);
    json["discarded_events"] =
        loss.count == 0 ? Json(nullptr) : Json(loss.count);
    json["cause"] = index_.Text(loss.cause);
    return json;
  }

  const TimelineIndex& index_;
  const InstantState& state_;
  const StatePage& page_;
  const std::vector<std::string> events_;
};

}  // namespace

std::string StatePageJson(const TimelineIndex& index, const StatePage& page) {
  return Dump(PageWriter(index, page).Write(), -1);
}

std::string StateDocument(const TimelineIndex& index,
                          const std::vector<StatePage>& pages) {
  Json json;
  json["schema"] = "countrace.state/1";
  const nlohmann::json facts =
      nlohmann::json::parse(index.facts(), nullptr, false);
  Json& trace = json["trace"];
  trace["path"] = facts.is_object() ? facts.value("path", "") : "";
  trace["begin_ns"] = index.header().begin_ns;
  trace["end_ns"] = index.header().begin_ns + index.duration_ns();
  trace["cpus"] = index.header().cpus;
  trace["events"] = EventNames(index);
  Json& states = json["states"] = Json::array();
  for (const StatePage& page : pages) {
    states.push_back(PageWriter(index, page).Write());
  }
  return Dump(json, 1);
}

}  // namespace countrace::viewer
