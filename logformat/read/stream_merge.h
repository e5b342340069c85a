// Selects the next stream: merge order is by time, then by index.
//
// Streams of threads that run at the same time alternate record by record, and
// all others wait. So the next two are kept outside a binary heap of the rest,
// and alternate without touching it. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_READ_STREAM_MERGE_H_
#define COUNTRACE_LOGFORMAT_READ_STREAM_MERGE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace countrace::logformat {

class StreamMerge {
 public:
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};

  // `next_ns` of each stream: time of its first item, kEnd if it has none.
  explicit StreamMerge(const std::vector<std::uint64_t>& next_ns) {
    for (std::size_t i = 0; i < next_ns.size(); ++i) {
      if (next_ns[i] == kEnd) continue;
      rest_.push_back({next_ns[i], static_cast<std::uint32_t>(i)});
    }
    for (std::size_t i = rest_.size() / 2; i-- > 0;) SiftDown(i, rest_[i]);
    first_ = Replace({kEnd, 0});
    second_ = Replace({kEnd, 0});
  }

  // True if the first stream of all is one of these, not of `others`.
  bool IsBefore(const StreamMerge& others) const {
    return first_ < others.first_;
  }
  // How far a stream that is not one of these may run: up to, not including,
  // this time.
  std::uint64_t limit_ns(std::uint32_t stream) const {
    return first_.next_ns + (!at_end() && stream < first_.stream ? 1 : 0);
  }
  bool at_end() const { return first_.next_ns == kEnd; }
  std::uint32_t stream() const { return first_.stream; }
  std::uint64_t next_ns() const { return first_.next_ns; }
  // How far the first stream may run: up to, not including, this time.
  std::uint64_t limit_ns() const {
    return second_.next_ns + (first_.stream < second_.stream ? 1 : 0);
  }
  // The first stream has run; `next_ns` is the time of its next item, kEnd if
  // it has none left.
  void Advance(std::uint64_t next_ns) {
    // An ended stream sorts last, and limit_ns() adds nothing to its time.
    const Entry moving = {next_ns, next_ns == kEnd ? 0 : first_.stream};
    if (moving < second_) {
      first_ = moving;
      return;
    }
    first_ = second_;
    if (rest_.empty() || moving < rest_[0]) [[likely]] {
      second_ = moving;
    } else {
      second_ = Replace(moving);
    }
  }

 private:
  struct Entry {
    std::uint64_t next_ns;
    std::uint32_t stream;
    bool operator<(const Entry& other) const {
      return next_ns != other.next_ns ? next_ns < other.next_ns
                                      : stream < other.stream;
    }
  };

  // Returns the first of the rest, and puts `moving` in its place.
  Entry Replace(const Entry moving) {
    if (rest_.empty()) return moving;
    const Entry top = rest_[0];
    SiftDown(0, moving);
    return top;
  }

  // `moving` is passed in registers: it was just written to the heap in two
  // parts, and reading it back would stall the processor.
  void SiftDown(std::size_t at, const Entry moving) {
    const std::size_t size = rest_.size();
    Entry* const rest = rest_.data();
    for (;;) {
      std::size_t child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && rest[child + 1] < rest[child]) ++child;
      if (!(rest[child] < moving)) break;
      rest[at] = rest[child];
      at = child;
    }
    rest[at] = moving;
  }

  Entry first_, second_;
  std::vector<Entry> rest_;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_STREAM_MERGE_H_
