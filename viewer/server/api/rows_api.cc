#include "viewer/server/api/rows_api.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "viewer/index/rows/row_tree.h"
#include "viewer/server/tables/catalog_items.h"
#include "viewer/server/tables/row_condition.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

// False: a depth of calls of which none is in the range.
bool HasItems(const TimelineIndex& index, std::uint32_t number,
              TimeRange range) {
  if (index.rows()[number].kind != RowKind::kSegment) return true;
  const IntervalRow row(index, number);
  const std::uint64_t first = row.FirstNotOver(range.begin_ns);
  return first < row.size() && row.leaf(first).begin_ns <= range.end_ns;
}

Json ThreadBranchJson(const TimelineIndex& index, const ThreadBranch& branch,
                      TimeRange range) {
  Json rows = Json::array();
  for (std::uint32_t i = 0; i < branch.rows; ++i) {
    const std::uint32_t row = branch.first_row + i;
    if (IsDrawn(index.rows()[row].kind) && HasItems(index, row, range)) {
      rows.push_back(RowItemJson(index, row));
    }
  }
  Json item = {{"thread", branch.thread},
               {"window_ns", branch.on_cpu_ns},
               {"active", branch.active},
               {"rows", std::move(rows)},
               {"name", nullptr}};
  if (branch.thread < index.threads().size()) {
    item["name"] = ThreadItemJson(index, branch.thread);
  }
  return item;
}

Json ProcessBranchJson(const TimelineIndex& index, const ProcessBranch& branch,
                       const std::vector<bool>& hooked, TimeRange range) {
  Json item = {
      {"process", branch.process}, {"window_ns", branch.on_cpu_ns},
      {"active", branch.active},   {"hooked", branch.hooked},
      {"threads", branch.threads}, {"active_threads", branch.active_threads},
      {"name", nullptr},           {"thread", nullptr}};
  if (branch.process < index.processes().size()) {
    item["name"] = ProcessItemJson(index, branch.process, hooked);
  }
  if (branch.threads == 1)
    item["thread"] = ThreadBranchJson(index, branch.first, range);
  return item;
}

// How many there are, and what they did together.
template <typename Branch>
Json SumsJson(const std::vector<Branch>& branches) {
  std::uint64_t on_cpu_ns = 0;
  std::size_t active = 0;
  for (const Branch& branch : branches) {
    on_cpu_ns += branch.on_cpu_ns;
    active += branch.active ? 1 : 0;
  }
  return {
      {"total", branches.size()}, {"active", active}, {"window_ns", on_cpu_ns}};
}

HttpResponse Rows(const TimelineIndex& index, ApiQuery& query) {
  const std::optional<TimeRange> range = query.Range();
  if (!range) return Refuse(400, query.error());
  const std::optional<std::uint64_t> first = query.Number("first", 0);
  if (!first) return Refuse(400, query.error());
  const std::optional<std::uint64_t> top =
      query.Number("top", kMaxTableRows, kMaxTableRows);
  if (!top) return Refuse(400, query.error());
  const auto parents = query.Numbers("parent", kMaxParents);
  if (!parents) return Refuse(400, query.error());
  const auto also = query.Numbers("also", kMaxTableRows);
  if (!also) return Refuse(400, query.error());
  const std::set<std::uint64_t> wanted(also->begin(), also->end());
  std::optional<SelectedRows> selected;
  if (query.Has("where")) {
    const std::optional<std::string> where = query.Text("where");
    if (!where) return Refuse(400, query.error());
    auto rows = SelectIn(index, *range, *where);
    if (!rows.ok()) return Refuse(rows.status());
    selected = *std::move(rows);
  }
  const auto put = [&](auto branches, const std::vector<bool>* shown,
                       auto number, auto write) {
    const std::size_t all = branches.size();
    if (shown != nullptr) {
      std::erase_if(branches, [&](const auto& branch) {
        return number(branch) >= shown->size() || !(*shown)[number(branch)];
      });
    }
    Json answer = SumsJson(branches);
    answer["of"] = all;
    answer["from"] = range->begin_ns;
    answer["to"] = range->end_ns;
    Json items = Json::array();
    for (std::size_t i = 0; i < branches.size(); ++i) {
      const bool on_page = i >= *first && i - *first < *top;
      const bool kept = wanted.contains(number(branches[i]));
      if (!on_page && !kept) continue;
      Json item = write(branches[i]);
      item["rank"] = i;
      item["kept"] = kept;
      items.push_back(std::move(item));
    }
    answer["items"] = std::move(items);
    return answer;
  };
  if (query.Has("parent")) {
    Json all = Json::array();
    for (const std::uint64_t parent : *parents) {
      const auto process =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(parent, kNoKey));
      Json answer = put(
          RankThreads(index, process, *range),
          selected ? &selected->threads : nullptr,
          [](const ThreadBranch& branch) { return branch.thread; },
          [&](const ThreadBranch& branch) {
            return ThreadBranchJson(index, branch, *range);
          });
      answer["parent"] = parent;
      all.push_back(std::move(answer));
    }
    return AnswerJson({{"parents", std::move(all)}});
  }
  const std::vector<bool> hooked = HookedProcesses(index);
  return AnswerJson(put(
      RankProcesses(index, *range), selected ? &selected->processes : nullptr,
      [](const ProcessBranch& branch) { return branch.process; },
      [&](const ProcessBranch& branch) {
        return ProcessBranchJson(index, branch, hooked, *range);
      }));
}

std::string Lower(std::string_view text) {
  return absl::AsciiStrToLower(std::string(text));
}
// True: `text` is a part of the name and the number that a page shows.
bool Matches(std::string_view name, std::int32_t id, const std::string& text) {
  return (Lower(name) + ' ' + std::to_string(id)).find(text) !=
         std::string::npos;
}

HttpResponse Find(const TimelineIndex& index, ApiQuery& query) {
  const std::optional<std::string> asked = query.Text("q");
  if (!asked) return Refuse(400, query.error());
  const std::string text =
      absl::AsciiStrToLower(std::string(absl::StripAsciiWhitespace(*asked)));
  Json processes = Json::array(), hooks = Json::array(),
       threads = Json::array();
  if (!text.empty()) {
    const std::vector<bool> hooked = HookedProcesses(index);
    for (const std::uint32_t process : ProcessesByWeight(index)) {
      const ProcessEntry& entry = index.processes()[process];
      if (processes.size() == kMaxFound) break;
      if (Matches(index.Text(entry.comm), entry.pid, text)) {
        processes.push_back(ProcessItemJson(index, process, hooked));
      }
    }
    std::map<std::uint32_t, std::uint64_t> calls;
    for (const GroupEntry& group : index.groups()) {
      calls[group.key] += group.count;
    }
    std::vector<std::pair<std::uint64_t, const HookEntry*>> found;
    for (const HookEntry& hook : index.hooks()) {
      const auto called = calls.find(hook.id);
      if (called != calls.end() &&
          Lower(index.Text(hook.name)).find(text) != std::string::npos) {
        found.emplace_back(called->second, &hook);
      }
    }
    std::stable_sort(
        found.begin(), found.end(),
        [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [count, hook] : found) {
      if (hooks.size() == kMaxFound) break;
      hooks.push_back({{"hook", hook->id},
                       {"calls", count},
                       {"name", index.Text(hook->name)}});
    }
    std::vector<std::uint32_t> by_weight;
    for (std::uint32_t i = 0; i < index.threads().size(); ++i) {
      const ThreadEntry& entry = index.threads()[i];
      if (entry.listed != 0 && entry.tid != entry.pid &&
          Matches(index.Text(entry.comm), entry.tid, text)) {
        by_weight.push_back(i);
      }
    }
    const auto weight = [&index](std::uint32_t thread) {
      const std::uint64_t ns = index.threads()[thread].on_cpu_ns;
      return ns == kUnknownTime ? 0 : ns;
    };
    std::stable_sort(by_weight.begin(), by_weight.end(),
                     [&](std::uint32_t a, std::uint32_t b) {
                       return weight(a) > weight(b);
                     });
    if (by_weight.size() > kMaxFound) by_weight.resize(kMaxFound);
    for (const std::uint32_t thread : by_weight) {
      threads.push_back(ThreadItemJson(index, thread));
    }
  }
  return AnswerJson({{"processes", std::move(processes)},
                     {"hooks", std::move(hooks)},
                     {"threads", std::move(threads)}});
}

}  // namespace

std::optional<HttpResponse> AnswerRows(const TimelineIndex& index,
                                       std::string_view name, ApiQuery& query) {
  if (name == "find") return Find(index, query);
  if (name == "rows" && (query.Has("from") || query.Has("parent"))) {
    return Rows(index, query);
  }
  return std::nullopt;
}

}  // namespace countrace::viewer
