#include "viewer/state/state_page.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/text/glob.h"
#include "viewer/index/rows/interval_row.h"
#include "viewer/index/rows/point_row.h"

namespace countrace::viewer {
namespace {

struct NamedKind {
  const char* name;
  std::uint32_t kind;
};
constexpr NamedKind kNearKinds[] = {{"dispatch", kStepDispatch},
                                    {"segment", kStepSegment},
                                    {"hook", kStepHook},
                                    {"interrupt", kStepInterrupt},
                                    {"loss", kStepLoss}};

bool Matches(const std::string& glob, std::string_view name) {
  return base::GlobMatches(glob.c_str(), std::string(name).c_str());
}

std::string ThreadName(const TimelineIndex& index, std::uint32_t thread) {
  if (thread >= index.threads().size()) return "?";
  const ThreadEntry& entry = index.threads()[thread];
  return absl::StrFormat("%s (tid %d)", index.Text(entry.comm), entry.tid);
}

std::string DescribeDispatch(const TimelineIndex& index, const RowEntry& row,
                             const IntervalLeaf& leaf, bool at_end) {
  const bool of_cpu = row.kind == RowKind::kCpu;
  const std::uint32_t cpu = of_cpu ? row.owner : leaf.key;
  std::string who = (leaf.flags & kLeafIdle) != 0 ? "idle"
                    : (leaf.flags & kLeafOutside) != 0
                        ? "what is outside the recording"
                        : ThreadName(index, of_cpu ? leaf.key : row.owner);
  return absl::StrFormat("%s %s CPU %d", who, at_end ? "leaves" : "gets", cpu);
}

}  // namespace

std::string HookName(const TimelineIndex& index, std::uint32_t hook_id) {
  const auto hook = std::lower_bound(
      index.hooks().begin(), index.hooks().end(), hook_id,
      [](const HookEntry& entry, std::uint32_t id) { return entry.id < id; });
  if (hook == index.hooks().end() || hook->id != hook_id) {
    return absl::StrFormat("hook %d", hook_id);
  }
  return std::string(index.Text(hook->name));
}

std::vector<std::string> EventNames(const TimelineIndex& index) {
  std::vector<std::string> names(index.header().events, "?");
  const nlohmann::json facts =
      nlohmann::json::parse(index.facts(), nullptr, false);
  if (!facts.is_object() || !facts.contains("events") ||
      !facts["events"].is_array()) {
    return names;
  }
  for (std::size_t i = 0; i < names.size() && i < facts["events"].size(); ++i) {
    if (facts["events"][i].is_string()) names[i] = facts["events"][i];
  }
  return names;
}

std::set<std::size_t> EventsInTurns(const TimelineIndex& index) {
  std::set<std::size_t> events;
  const nlohmann::json facts =
      nlohmann::json::parse(index.facts(), nullptr, false);
  if (!facts.is_object() || !facts.contains("events_in_turns")) return events;
  for (const nlohmann::json& event : facts["events_in_turns"]) {
    if (event.is_number_unsigned()) events.insert(event.get<std::size_t>());
  }
  return events;
}

StatePage CollectPage(const TimelineIndex& index, std::uint64_t time_ns,
                      const StateOptions& options, std::optional<Step> step) {
  StatePage page;
  page.state = StateAt(index, time_ns, options);
  for (const std::size_t event : EventsInTurns(index)) {
    if (event < page.state.events.size()) page.state.events[event].gap = true;
  }
  page.step = step;
  for (const NamedKind& near : kNearKinds) {
    NearSteps steps{near.name, NearestStep(index, time_ns, false, near.kind),
                    NearestStep(index, time_ns, true, near.kind)};
    if (steps.previous || steps.next) page.near.push_back(steps);
  }
  return page;
}

absl::StatusOr<StepFilter> FilterOf(const TimelineIndex& index,
                                    std::string_view kind,
                                    const std::vector<std::string>& of) {
  StepFilter filter;
  if (!of.empty() && kind == "loss") {
    return absl::InvalidArgumentError(
        "--of does not apply to losses: leave it out, or step by another kind");
  }
  std::set<std::uint32_t> threads, hooks;
  bool any_tid = false, any_glob = false;
  const bool by_name = kind == "dispatch";
  for (const std::string& text : of) {
    std::int32_t tid = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, tid);
    const bool is_tid = error == std::errc() && rest == end;
    if (is_tid && kind == "interrupt") {
      return absl::InvalidArgumentError(
          "An interrupt belongs to a CPU, not to a thread: give a glob on its "
          "name");
    }
    any_tid |= is_tid;
    any_glob |= !is_tid;
    std::size_t found = 0;
    if (is_tid || by_name) {
      for (std::uint32_t i = 0; i < index.threads().size(); ++i) {
        const ThreadEntry& thread = index.threads()[i];
        if (thread.listed == 0) continue;
        if (is_tid ? thread.tid != tid
                   : !Matches(text, index.Text(thread.comm))) {
          continue;
        }
        threads.insert(i);
        ++found;
      }
    } else {
      for (const HookEntry& hook : index.hooks()) {
        if (!Matches(text, index.Text(hook.name))) continue;
        hooks.insert(hook.id);
        ++found;
      }
    }
    if (found == 0) {
      return absl::NotFoundError(absl::StrFormat(
          "Nothing in the trace matches --of %s: %s. `countrace %s TRACE` "
          "names them",
          text,
          absl::StrFormat("%s=%d", is_tid || by_name ? "threads" : "hooks",
                          is_tid || by_name ? index.threads().size()
                                            : index.hooks().size()),
          is_tid || by_name ? "report --by thread --rows 0" : "list hooks"));
    }
  }
  if (any_tid || (any_glob && by_name)) filter.threads = std::move(threads);
  if (any_glob && !by_name) filter.hooks = std::move(hooks);
  return filter;
}

std::string DescribeStep(const TimelineIndex& index, const Step& step) {
  if (step.row >= index.rows().size()) return "?";
  const RowEntry& row = index.rows()[step.row];
  if (row.kind == RowKind::kHook) {
    const std::uint32_t hook = PointRow(index, step.row).Key(step.leaf);
    return absl::StrFormat("%s hits %s", ThreadName(index, row.owner),
                           HookName(index, hook));
  }
  const IntervalLeaf leaf = IntervalRow(index, step.row).leaf(step.leaf);
  const char* const moves = step.at_end ? "leaves" : "enters";
  switch (row.kind) {
    case RowKind::kCpu:
    case RowKind::kThreadRun:
      return DescribeDispatch(index, row, leaf, step.at_end);
    case RowKind::kSegment:
      return absl::StrFormat("%s %s %s", ThreadName(index, row.owner), moves,
                             HookName(index, leaf.key));
    case RowKind::kInterrupt:
      return absl::StrFormat("CPU %d %s %s", row.owner, moves,
                             HookName(index, leaf.key));
    case RowKind::kQuality:
      return step.at_end ? "a loss of records ends"
                         : "a loss of records begins";
    default:
      return "?";
  }
}

}  // namespace countrace::viewer
