// Sorts perf's records by time.
//
// perf writes the content of each CPU's buffer, one buffer after the other, and
// then a FINISHED_ROUND. A record after the second of two such marks is not
// earlier than any record before the first. So a round's records wait until the
// next round is complete: memory is that of two rounds, which perf's buffers
// bound. A file without marks is sorted in a window of kMaxWaiting.
//
// In: records in the order of the file. Out: records by time; with equal times,
// in the order of the file. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_ROUND_SORTER_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_ROUND_SORTER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace countrace::importer::perf {

template <typename Item>
class RoundSorter {
 public:
  explicit RoundSorter(std::size_t max_waiting = std::size_t{1} << 21)
      : max_waiting_(max_waiting) {}

  // Calls `out` with (time, item) in order. Records that come too late keep
  // their times, and are counted.
  template <typename Out>
  void Add(std::uint64_t time_ns, Item item, const Out& out) {
    if (waiting_.size() >= max_waiting_) {
      // Delivers the older half; a later record that belongs there is late.
      std::vector<std::uint64_t> times;
      times.reserve(waiting_.size());
      for (const Waiting& one : waiting_) times.push_back(one.time_ns);
      const auto middle =
          times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
      std::nth_element(times.begin(), middle, times.end());
      Deliver(*middle, out);
    }
    if (time_ns < delivered_ns_) {
      ++late_;
      latest_by_ns_ = std::max(latest_by_ns_, delivered_ns_ - time_ns);
    }
    round_max_ns_ = std::max(round_max_ns_, time_ns);
    waiting_.push_back({time_ns, number_++, std::move(item)});
  }
  template <typename Out>
  void EndRound(const Out& out) {
    Deliver(last_round_max_ns_, out);
    last_round_max_ns_ = std::max(last_round_max_ns_, round_max_ns_);
  }
  template <typename Out>
  void Finish(const Out& out) {
    Deliver(~std::uint64_t{0}, out);
  }

  // Number of records that came after a later one was delivered, and the
  // largest delay.
  std::uint64_t late() const { return late_; }
  std::uint64_t latest_by_ns() const { return latest_by_ns_; }

 private:
  struct Waiting {
    std::uint64_t time_ns, number;
    Item item;
  };

  // Delivers all up to `until_ns`.
  template <typename Out>
  void Deliver(std::uint64_t until_ns, const Out& out) {
    const auto rest = std::partition(
        waiting_.begin(), waiting_.end(),
        [until_ns](const Waiting& one) { return one.time_ns <= until_ns; });
    std::sort(waiting_.begin(), rest, [](const Waiting& a, const Waiting& b) {
      return a.time_ns != b.time_ns ? a.time_ns < b.time_ns
                                    : a.number < b.number;
    });
    for (auto one = waiting_.begin(); one != rest; ++one) {
      delivered_ns_ = std::max(delivered_ns_, one->time_ns);
      out(one->time_ns, one->item);
    }
    waiting_.erase(waiting_.begin(), rest);
  }

  const std::size_t max_waiting_;
  std::vector<Waiting> waiting_;
  std::uint64_t number_ = 0, delivered_ns_ = 0;
  std::uint64_t round_max_ns_ = 0, last_round_max_ns_ = 0;
  std::uint64_t late_ = 0, latest_by_ns_ = 0;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_ROUND_SORTER_H_
