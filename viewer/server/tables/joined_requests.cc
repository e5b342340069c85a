#include "viewer/server/tables/joined_requests.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "base/text/name_escape.h"
#include "logformat/read/trace_reader.h"
#include "viewer/server/tables/trace_report.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;
using rmap::RequestCall;
using rmap::Requests;
using rmap::RequestSums;

using SortNumber = std::uint64_t (*)(const RequestSums&);
// By their names in the answer.
SortNumber NumberOf(std::string_view column) {
  if (column == "begin_ns") return [](const auto& s) { return s.begin_ns; };
  if (column == "duration_ns") {
    return [](const auto& s) { return s.duration_ns.value; };
  }
  if (column == "on_cpu_ns") {
    return [](const auto& s) { return s.on_cpu_ns.value; };
  }
  if (column == "wait_ns") return [](const auto& s) { return s.wait_ns.value; };
  if (column == "blocked_ns") {
    return [](const auto& s) { return s.blocked_ns.value; };
  }
  if (column == "between_ns") return [](const auto& s) { return s.between_ns; };
  if (column == "threads") {
    return [](const auto& s) { return std::uint64_t{s.threads}; };
  }
  if (column == "calls") {
    return [](const auto& s) { return s.calls.value; };
  }
  return nullptr;
}

bool IsNumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

// Numbers by their value, before all others.
std::strong_ordering Compare(const std::string& a, const std::string& b) {
  const bool is_number = IsNumber(a);
  if (is_number != IsNumber(b)) return !is_number <=> is_number;
  if (!is_number) return a <=> b;
  const bool negative = a.starts_with('-');
  if (negative != b.starts_with('-')) return !negative <=> negative;
  const auto order = a.size() != b.size() ? a.size() <=> b.size() : a <=> b;
  return negative ? 0 <=> order : order;
}

// What holds the truth, of the numbers that are not exact.
Json BoundsJson(const Requests& requests, const RequestSums& sums) {
  Json bounds = Json::object();
  const bool lost = sums.may_have_more;
  const auto add = [&](const char* name, const rmap::RequestNumber& number) {
    if (number.is_exact() && !lost) return;
    bounds[name] = {number.least, lost ? Json(nullptr) : Json(number.most)};
  };
  add("duration_ns", sums.duration_ns);
  add("between_ns",
      {sums.between_ns, lost ? 0 : sums.between_ns, sums.between_ns});
  add("threads", {sums.threads, lost ? 0 : sums.threads, sums.threads});
  add("calls", sums.calls);
  if (!requests.has_kernel) return bounds;
  add("on_cpu_ns", sums.on_cpu_ns);
  add("wait_ns", sums.wait_ns);
  if (requests.has_wakeups) add("blocked_ns", sums.blocked_ns);
  return bounds;
}

void AddTimes(const Requests& requests, std::uint64_t on_cpu_ns,
              std::uint64_t wait_ns, std::uint64_t blocked_ns, Json& json) {
  const auto known = [](bool is_known, std::uint64_t ns) {
    return is_known ? Json(ns) : Json(nullptr);
  };
  json["on_cpu_ns"] = known(requests.has_kernel, on_cpu_ns);
  json["wait_ns"] = known(requests.has_kernel, wait_ns);
  json["blocked_ns"] = known(requests.has_wakeups, blocked_ns);
}

}  // namespace

std::shared_ptr<const Requests> JoinedRequests::Kept(
    const std::string& trace_path) {
  const std::lock_guard lock(mutex_);
  return path_ == trace_path ? requests_ : nullptr;
}

absl::StatusOr<std::shared_ptr<const Requests>> JoinedRequests::Of(
    const std::string& trace_path) {
  if (auto kept = Kept(trace_path)) return kept;
  const std::unique_lock reading(reading_, std::try_to_lock);
  if (!reading.owns_lock()) {
    return absl::CancelledError("The trace is read for another request");
  }
  if (auto kept = Kept(trace_path)) return kept;  // meanwhile
  const std::lock_guard making(MakingReport());
  const auto reader = logformat::TraceReader::Open(trace_path);
  if (!reader.ok()) return reader.status();
  auto requests = rmap::JoinCalls(**reader, rule_, nullptr);
  if (!requests.ok()) return requests.status();
  const std::lock_guard lock(mutex_);
  requests_ = std::make_shared<const Requests>(*std::move(requests));
  path_ = trace_path;
  return requests_;
}

std::optional<std::vector<std::uint32_t>> RequestRows(const Requests& requests,
                                                      TimeRange range,
                                                      std::string_view column,
                                                      bool ascending) {
  const SortNumber number = NumberOf(column);
  if (number == nullptr && column != "id") return std::nullopt;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < requests.all.size(); ++i) {
    const RequestSums& sums = requests.sums[i];
    if (sums.begin_ns >= range.end_ns || sums.end_ns < range.begin_ns) continue;
    rows.push_back(i);
  }
  std::ranges::stable_sort(rows, [&](std::uint32_t a, std::uint32_t b) {
    const std::strong_ordering order =
        number != nullptr
            ? number(requests.sums[a]) <=> number(requests.sums[b])
            : Compare(requests.all[a].id, requests.all[b].id);
    return ascending ? order < 0 : order > 0;
  });
  return rows;
}

std::optional<std::uint32_t> RequestNamed(const Requests& requests,
                                          std::string_view id) {
  for (std::uint32_t i = 0; i < requests.all.size(); ++i) {
    if (base::EscapeName(requests.all[i].id) == id) return i;
  }
  return std::nullopt;
}

Json RequestJson(const Requests& requests, std::uint32_t number,
                 std::uint64_t begin_ns, std::size_t spans) {
  const RequestSums& sums = requests.sums[number];
  const auto since = [begin_ns](std::uint64_t ns) {
    return ns - std::min(ns, begin_ns);
  };
  Json json = {{"request", number},
               {"id", base::EscapeName(requests.all[number].id)},
               {"begin_ns", since(sums.begin_ns)},
               {"end_ns", since(sums.end_ns)},
               {"duration_ns", sums.duration_ns.value},
               {"between_ns", sums.between_ns},
               {"threads", sums.threads},
               {"calls", sums.calls.value},
               {"lost", sums.lost_inside},
               {"qualities", Json::array()},
               {"bounds", BoundsJson(requests, sums)},
               {"spans", Json::array()}};
  AddTimes(requests, sums.on_cpu_ns.value, sums.wait_ns.value,
           sums.blocked_ns.value, json);
  if (!json["bounds"].empty()) json["qualities"].push_back("bounded");
  if (sums.end_inferred) json["qualities"].push_back("inferred");
  const RequestCall* call = requests.begin(number);
  for (; spans > 0 && call != requests.end(number); ++call, --spans) {
    Json span = {{"thread", static_cast<std::uint32_t>(call->thread)},
                 {"hook", call->hook_id},
                 {"begin_ns", since(call->begin_ns)},
                 {"end_ns", since(call->end_ns)},
                 {"point", call->is_point},
                 {"exact", IsExact(requests, *call)}};
    AddTimes(requests, call->on_cpu_ns, call->wait_ns, call->blocked_ns, span);
    json["spans"].push_back(std::move(span));
  }
  return json;
}

}  // namespace countrace::viewer
