#include "viewer/server/tables/sample_stacks.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "rmap/samples/names/code_places.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

// Functions by their place in the answer; stacks of them, by innermost frame.
class Stacks {
 public:
  explicit Stacks(const rmap::Samples& samples)
      : samples_(samples), places_(samples, rmap::SampleBy::kFunction) {}

  // From the outermost function in.
  const std::vector<std::size_t>& Of(std::uint32_t innermost) {
    const auto [found, added] = stacks_.try_emplace(innermost);
    if (!added) return found->second;
    std::vector<std::size_t>& stack = found->second;
    for (std::uint32_t frame = innermost; frame != 0;
         frame = samples_.frames[frame].parent) {
      for (const std::uint32_t place : places_.Of(frame)) {
        stack.push_back(NumberOf(place));
      }
    }
    std::ranges::reverse(stack);
    return stack;
  }
  Json TakeFunctions() { return std::move(functions_); }

 private:
  std::size_t NumberOf(std::uint32_t place) {
    const auto [found, added] =
        numbers_.try_emplace(places_[place].function, functions_.size());
    if (added) functions_.push_back(places_[place].function);
    return found->second;
  }

  const rmap::Samples& samples_;
  rmap::CodePlaces places_;
  std::map<std::uint32_t, std::vector<std::size_t>> stacks_;
  std::map<std::string, std::size_t> numbers_;
  Json functions_ = Json::array();
};

}  // namespace

Json SampleStacks(const rmap::Samples& samples,
                  const std::vector<std::uint64_t>& threads,
                  std::uint64_t begin_ns, std::uint64_t from_ns,
                  std::uint64_t to_ns) {
  if (samples.timed.empty()) return {{"threads", nullptr}};
  std::map<std::uint64_t, std::vector<const rmap::TimedSample*>> of_threads;
  for (const std::uint64_t thread : threads) of_threads[thread];
  // The last one before: what is drawn at `from_ns` is its stack.
  std::map<std::uint64_t, const rmap::TimedSample*> before;
  for (const rmap::TimedSample& sample : samples.timed) {
    if (sample.time_ns >= to_ns) continue;
    const auto thread =
        static_cast<std::uint32_t>(samples.contexts[sample.context].thread);
    const auto found = of_threads.find(thread);
    if (found == of_threads.end()) continue;
    if (sample.time_ns >= from_ns) {
      found->second.push_back(&sample);
      continue;
    }
    const rmap::TimedSample*& last = before[thread];
    if (last == nullptr || last->time_ns <= sample.time_ns) last = &sample;
  }
  Stacks stacks(samples);
  Json items = Json::array();
  for (auto& [thread, taken] : of_threads) {
    Json item = {{"thread", thread}, {"samples", nullptr}};
    if (taken.size() <= kMaxStackSamples) {
      if (const auto last = before.find(thread); last != before.end()) {
        taken.insert(taken.begin(), last->second);
      }
      std::ranges::stable_sort(taken, {}, &rmap::TimedSample::time_ns);
      Json list = Json::array();
      for (const rmap::TimedSample* sample : taken) {
        list.push_back({{"t", sample->time_ns - begin_ns},
                        {"stack", stacks.Of(sample->frame)}});
      }
      item["samples"] = std::move(list);
    }
    items.push_back(std::move(item));
  }
  return {{"functions", stacks.TakeFunctions()}, {"threads", std::move(items)}};
}

}  // namespace countrace::viewer
