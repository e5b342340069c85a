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

// Numbers by their value.
std::strong_ordering Compare(const std::string& a, const std::string& b) {
  const auto is_number = [](const std::string& text) {
    return std::ranges::all_of(text, [](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c));
    });
  };
  if (is_number(a) && is_number(b) && a.size() != b.size()) {
    return a.size() <=> b.size();
  }
  return a <=> b;
}

// What holds the truth, of the numbers that are not exact.
Json BoundsJson(const Requests& requests, const RequestSums& sums) {
  Json bounds = Json::object();
  const bool lost = !requests.lost.empty();
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

absl::StatusOr<std::shared_ptr<const Requests>> JoinedRequests::Of(
    const std::string& trace_path) {
  const std::lock_guard lock(mutex_);
  if (requests_ != nullptr && path_ == trace_path) return requests_;
  const std::lock_guard making(MakingReport());
  const auto reader = logformat::TraceReader::Open(trace_path);
  if (!reader.ok()) return reader.status();
  auto requests = rmap::JoinCalls(**reader, rule_, nullptr);
  if (!requests.ok()) return requests.status();
  requests_ = std::make_shared<const Requests>(*std::move(requests));
  path_ = trace_path;
  return requests_;
}

std::optional<std::vector<RequestRow>> RequestRows(const Requests& requests,
                                                   TimeRange range,
                                                   std::string_view column,
                                                   bool ascending) {
  const SortNumber number = NumberOf(column);
  if (number == nullptr && column != "id") return std::nullopt;
  std::vector<RequestRow> rows;
  for (std::uint32_t i = 0; i < requests.all.size(); ++i) {
    const RequestSums sums = SumsOf(requests, i);
    if (sums.begin_ns >= range.end_ns || sums.end_ns < range.begin_ns) continue;
    rows.push_back({i, sums});
  }
  std::ranges::stable_sort(rows, [&](const RequestRow& a, const RequestRow& b) {
    const std::strong_ordering order =
        number != nullptr
            ? number(a.sums) <=> number(b.sums)
            : Compare(requests.all[a.number].id, requests.all[b.number].id);
    return ascending ? order < 0 : order > 0;
  });
  return rows;
}

std::optional<RequestRow> RequestNamed(const Requests& requests,
                                       std::string_view id) {
  for (std::uint32_t i = 0; i < requests.all.size(); ++i) {
    if (base::EscapeName(requests.all[i].id) != id) continue;
    return RequestRow{i, SumsOf(requests, i)};
  }
  return std::nullopt;
}

Json RequestJson(const Requests& requests, const RequestRow& row,
                 std::uint64_t begin_ns, std::size_t spans) {
  const RequestSums& sums = row.sums;
  const auto since = [begin_ns](std::uint64_t ns) {
    return ns - std::min(ns, begin_ns);
  };
  Json json = {{"request", row.number},
               {"id", base::EscapeName(requests.all[row.number].id)},
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
  const RequestCall* call = requests.begin(row.number);
  for (; spans > 0 && call != requests.end(row.number); ++call, --spans) {
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
