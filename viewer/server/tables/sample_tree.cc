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
  for (const rmap::TimedSample& sample : samples.timed) {
    if (sample.event != request.event ||
        (!chosen.empty() && !chosen[sample.context]) ||
        sample.time_ns < begin_ns) {
      continue;
    }
    const auto [found, added] = has.try_emplace(sample.frame, false);
    if (added) found->second = has_function(sample.frame);
    if (!found->second) continue;
    const double at =
        static_cast<double>(sample.time_ns - begin_ns) /
        static_cast<double>(std::max<std::uint64_t>(duration_ns, 1));
    ++counts[std::min(columns - 1, static_cast<std::size_t>(
                                       at * static_cast<double>(columns)))];
  }
  return {{"columns", std::move(counts)}};
}

}  // namespace countrace::viewer
