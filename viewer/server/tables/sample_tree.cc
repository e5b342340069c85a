#include "viewer/server/tables/sample_tree.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "rmap/samples/names/code_places.h"
#include "rmap/samples/names/frame_places.h"
#include "rmap/samples/rows/call_tree.h"
#include "rmap/samples/rows/samples_json.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

constexpr double kLeastShare = 0.001;
constexpr std::size_t kMostRows = 5000;

// A stretch of time in columns of equal width.
class ColumnsOf {
 public:
  ColumnsOf(std::uint64_t begin_ns, std::uint64_t end_ns, std::size_t columns)
      : begin_ns_(begin_ns),
        columns_(columns),
        width_ns_(
            static_cast<double>(std::max(end_ns, begin_ns + 1) - begin_ns) /
            static_cast<double>(columns)) {}
  // Requires: at or after the begin. Of what is behind the end, the last one.
  std::size_t Of(std::uint64_t time_ns) const {
    const double column = static_cast<double>(time_ns - begin_ns_) / width_ns_;
    return std::min(columns_ - 1, static_cast<std::size_t>(column));
  }

 private:
  std::uint64_t begin_ns_;
  std::size_t columns_;
  double width_ns_;
};

// A pattern of this name alone.
std::string PatternOf(const std::string& name) {
  std::string pattern;
  for (const char letter : name) {
    if (letter == '*' || letter == '?' || letter == '[' || letter == '\\') {
      pattern += '\\';
    }
    pattern += letter;
  }
  return pattern;
}

}  // namespace

Json SampleTree(const rmap::Samples& samples,
                const SampleTreeRequest& request) {
  const rmap::SampleTable tree = rmap::MakeCallTree(
      samples, {.callers = request.callers,
                .function = PatternOf(request.function),
                .choice = {.chosen = ContextsOf(samples, request.chosen)},
                .least_share = kLeastShare});
  Json rows = Json::array();
  std::uint64_t left_out = tree.left_out;
  for (const rmap::SampleRow& row : tree.rows) {
    if (row.event != request.event) continue;
    if (rows.size() == kMostRows) {
      ++left_out;
      continue;
    }
    Json item(rmap::FunctionJson(samples, row));
    item["depth"] = row.depth;
    rows.push_back(std::move(item));
  }
  return {{"rows", std::move(rows)}, {"left_out", left_out}};
}

Json SampleTimes(const rmap::Samples& samples, const SampleTreeRequest& request,
                 const std::string& dso, std::uint64_t begin_ns,
                 std::uint64_t duration_ns, std::size_t columns) {
  if (samples.timed.empty()) return {{"columns", nullptr}};
  const std::vector<bool> chosen = ContextsOf(samples, request.chosen);
  rmap::CodePlaces places(samples, rmap::SampleBy::kFunction);
  places.Expect(chosen);
  // By innermost frame: whether the stack has it.
  std::map<std::uint32_t, bool> has;
  const auto has_function = [&](std::uint32_t innermost) {
    for (std::uint32_t frame = innermost; frame != 0;
         frame = samples.frames[frame].parent) {
      for (const std::uint32_t place : places.Of(frame)) {
        if (places[place].function == request.function &&
            rmap::CodeFileName(places[place].dso) == dso) {
          return true;
        }
      }
    }
    return false;
  };
  std::vector<std::uint32_t> counts(columns);
  const ColumnsOf place(begin_ns, begin_ns + duration_ns, columns);
  for (const rmap::TimedSample& sample : samples.timed) {
    if (sample.event != request.event ||
        (!chosen.empty() && !chosen[sample.context]) ||
        sample.time_ns < begin_ns) {
      continue;
    }
    const auto [found, added] = has.try_emplace(sample.frame, false);
    if (added) found->second = has_function(sample.frame);
    if (!found->second) continue;
    ++counts[place.Of(sample.time_ns)];
  }
  return {{"columns", std::move(counts)}};
}

Json SampleDensity(const rmap::Samples& samples,
                   const std::vector<std::uint64_t>& threads,
                   std::uint64_t begin_ns, std::uint64_t end_ns,
                   std::size_t columns) {
  if (samples.timed.empty()) return {{"threads", nullptr}};
  std::map<std::uint64_t, std::vector<std::uint32_t>> counts;
  for (const std::uint64_t thread : threads) counts[thread].resize(columns);
  const ColumnsOf place(begin_ns, end_ns, columns);
  for (const rmap::TimedSample& sample : samples.timed) {
    if (sample.time_ns < begin_ns || sample.time_ns >= end_ns) continue;
    const auto thread =
        static_cast<std::uint32_t>(samples.contexts[sample.context].thread);
    const auto found = counts.find(thread);
    if (found != counts.end()) ++found->second[place.Of(sample.time_ns)];
  }
  Json items = Json::array();
  for (auto& [thread, columns_of] : counts) {
    items.push_back({{"thread", thread}, {"columns", std::move(columns_of)}});
  }
  return {{"threads", std::move(items)}};
}

}  // namespace countrace::viewer
