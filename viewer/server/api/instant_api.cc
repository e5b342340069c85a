#include "viewer/server/api/instant_api.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "viewer/index/instant/instant_state.h"
#include "viewer/index/instant/nearest_step.h"
#include "viewer/index/range/wait_split.h"
#include "viewer/server/tables/catalog_items.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"
#include "viewer/server/wire/state_json.h"
#include "viewer/server/wire/wait_json.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

class Instant {
 public:
  Instant(const TimelineIndex& index, ApiQuery& query)
      : index_(index), query_(query) {}

  HttpResponse State() {
    const std::optional<std::uint64_t> time_ns =
        query_.Number("t", std::nullopt);
    if (!time_ns) return Refuse(400, query_.error());
    const std::optional<std::uint64_t> window_ns = query_.Number("window", 0);
    if (!window_ns) return Refuse(400, query_.error());
    StateOptions options;
    options.window_ns = *window_ns;
    if (query_.Has("threads")) {
      const std::string_view which = query_.Word("threads");
      if (which == "all") {
        options.threads = StateThreads::kAll;
      } else if (which != "active") {
        return Refuse(400, "Parameter threads: expected active or all");
      }
    }
    if (query_.Has("top")) {
      const auto top = query_.Number("top", std::nullopt, kMaxStateThreads);
      if (!top) return Refuse(400, query_.error());
      options.most = *top;
      options.ranked = true;
    }
    return AnswerJson(StateJson(StateAt(index_, *time_ns, options)));
  }

  HttpResponse Wait() {
    const std::optional<std::uint64_t> time_ns =
        query_.Number("t", std::nullopt);
    if (!time_ns) return Refuse(400, query_.error());
    const std::optional<std::uint64_t> thread =
        query_.Number("thread", std::nullopt);
    if (!thread) return Refuse(400, query_.error());
    if (*thread >= index_.threads().size()) {
      return Refuse(404, absl::StrFormat("No such thread: thread=%d", *thread));
    }
    const std::optional<WaitSplit> split =
        SplitWait(index_, static_cast<std::uint32_t>(*thread), *time_ns);
    if (!split) return AnswerJson({{"found", false}});
    return AnswerJson(WaitJson(*thread, *split));
  }

  HttpResponse NextStep() {
    const std::optional<std::uint64_t> time_ns =
        query_.Number("t", std::nullopt);
    if (!time_ns) return Refuse(400, query_.error());
    const std::string_view direction = query_.Word("dir");
    if (direction != "next" && direction != "previous") {
      return Refuse(400, "Parameter dir: expected next or previous");
    }
    std::uint32_t kinds = kStepDispatch | kStepSegment | kStepHook;
    if (query_.Has("kind") && query_.Word("kind") != "any") {
      const std::optional<std::uint32_t> kind =
          StepKindNamed(query_.Word("kind"));
      if (!kind) {
        return Refuse(400,
                      "Parameter kind: expected dispatch, segment, hook, "
                      "interrupt, loss or any");
      }
      kinds = *kind;
    }
    StepFilter filter;
    if (query_.Has("row")) {
      const std::optional<std::uint64_t> number =
          query_.Number("row", std::nullopt);
      if (!number) return Refuse(400, query_.error());
      if (*number >= index_.rows().size()) {
        return Refuse(404, absl::StrFormat("No such row: row=%d, rows=%d",
                                           *number, index_.rows().size()));
      }
      filter.row = static_cast<std::uint32_t>(*number);
      if (index_.rows()[*filter.row].kind == RowKind::kThreadRun) {
        kinds |= kStepDispatch;
      }
    }
    if (const char* wrong = Limit(filter)) return Refuse(400, wrong);
    if (query_.Has("hook")) {
      const std::optional<std::uint64_t> hook =
          query_.Number("hook", std::nullopt);
      if (!hook) return Refuse(400, query_.error());
      filter.hooks = {
          static_cast<std::uint32_t>(std::min<std::uint64_t>(*hook, kNoKey))};
      filter.begins_only = true;
      kinds = kStepSegment | kStepHook | kStepInterrupt;
    }
    const auto count = query_.Number("count", 1, kMaxFrames);
    if (!count || *count == 0) {
      return Refuse(400, absl::StrFormat("Parameter count: expected 1 to %d",
                                         kMaxFrames));
    }
    const auto nearest = [&](std::uint64_t from_ns) {
      return NearestStep(index_, from_ns, direction == "next", kinds, filter);
    };
    const std::optional<Step> step = nearest(*time_ns);
    if (!step) return AnswerJson({{"found", false}});
    Json times = Json::array();
    for (std::optional<Step> next = step; next && times.size() < *count;
         next = nearest(next->time_ns)) {
      times.push_back(next->time_ns);
    }
    return AnswerJson({{"found", true},
                       {"t", step->time_ns},
                       {"row", step->row},
                       {"kind", RowKindName(index_.rows()[step->row].kind)},
                       {"owner", index_.rows()[step->row].owner},
                       {"leaf", step->leaf},
                       {"edge", step->at_end ? "end" : "begin"},
                       {"times", std::move(times)}});
  }

 private:
  // Limits the steps to a thread, a process or a CPU. What is wrong, or null.
  const char* Limit(StepFilter& filter) {
    const char* const names[] = {"thread", "process", "cpu"};
    for (const char* name : names) {
      if (!query_.Has(name)) continue;
      const auto number = query_.Number(name, std::nullopt, kNoKey);
      if (!number) return "Parameters thread, process, cpu: expected a number";
      if (filter.threads || filter.cpu) {
        return "Parameters thread, process, cpu: expected one of them";
      }
      const auto owner = static_cast<std::uint32_t>(*number);
      if (name == names[0]) filter.threads = {owner};
      if (name == names[1]) filter.threads = ThreadsOf(owner);
      if (name == names[2]) filter.cpu = owner;
    }
    return nullptr;
  }
  std::set<std::uint32_t> ThreadsOf(std::uint32_t process) const {
    std::set<std::uint32_t> threads;
    for (std::uint32_t i = 0; i < index_.threads().size(); ++i) {
      if (index_.threads()[i].process == process) threads.insert(i);
    }
    return threads;
  }

  const TimelineIndex& index_;
  ApiQuery& query_;
};

}  // namespace

std::optional<HttpResponse> AnswerInstant(const TimelineIndex& index,
                                          std::string_view name,
                                          ApiQuery& query) {
  Instant instant(index, query);
  if (name == "state") return instant.State();
  if (name == "step") return instant.NextStep();
  if (name == "wait") return instant.Wait();
  return std::nullopt;
}

}  // namespace countrace::viewer
