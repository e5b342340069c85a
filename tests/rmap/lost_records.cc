#include "tests/rmap/lost_records.h"

#include <iterator>
#include <map>
#include <vector>

namespace countrace::test_support {

LostRecords::LostRecords(std::uint32_t seed, const MemoryTrace& trace)
    : random_(seed), size_(trace.size()) {
  kind_ = seed % 6;
  const double parts[] = {0.001, 0.01, 0.03, 0.1, 0.3};
  part_ = parts[seed / 6 % std::size(parts)];
  begin_ = random_() % size_;
  const std::vector<std::uint32_t> streams = trace.StreamIds();
  stream_ = streams[random_() % streams.size()];
  other_stream_ = streams[random_() % streams.size()];
}

bool LostRecords::operator()(std::size_t i, bool of_cpu, std::uint32_t stream) {
  const auto length =
      static_cast<std::size_t>(part_ * static_cast<double>(size_)) + 1;
  switch (kind_) {
    case 0:  // single records
      return static_cast<double>(random_() % 10000) < part_ * 10000;
    case 1:  // runs
      if (burst_ != 0) return --burst_, true;
      if (static_cast<double>(random_() % 100000) >= part_ * 10000) {
        return false;
      }
      burst_ = random_() % 20;
      return true;
    case 2:  // all records of a time
      return i >= begin_ && i < begin_ + length;
    case 3:  // the beginning or the end of one stream, or all of it
      return stream == stream_ && (begin_ % 5 == 0   ? true
                                   : begin_ % 2 == 0 ? i < length
                                                     : i + length > size_);
    case 4:  // a packet of each of two streams
      return (stream == stream_ || stream == other_stream_) && i >= begin_ &&
             i < begin_ + length;
    default:  // of CPUs alone
      return of_cpu && static_cast<double>(random_() % 10000) < part_ * 10000;
  }
}

void OverwriteSome(std::uint32_t seed, MemoryTrace& trace) {
  std::mt19937 random(seed);
  std::map<std::uint32_t, MemoryTrace::Hole> holes;
  for (const auto& [stream, times] : trace.RecordTimes()) {
    if (times.size() < 4 || random() % 3 == 0) continue;
    const std::size_t begin = random() % (times.size() / 2);
    holes[stream] = {times[begin],
                     times[begin + random() % (times.size() / 2)]};
  }
  trace.Overwrite(holes);
}

}  // namespace countrace::test_support
