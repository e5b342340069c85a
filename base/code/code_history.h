// Which function had the code at an address, and when: a compiler at run time
// uses memory again.
//
// In: functions in the order in which they were made, moved away or replaced.
// Out: those of an address. Thread: one.
#ifndef COUNTRACE_BASE_CODE_CODE_HISTORY_H_
#define COUNTRACE_BASE_CODE_CODE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace countrace::base {

struct TimedFunction {
  static constexpr std::uint64_t kOpenEnd =
      std::numeric_limits<std::uint64_t>::max();
  std::uint64_t begin = 0, bytes = 0;
  std::uint64_t from_ns = 0, until_ns = kOpenEnd;
  std::string name;
};

class CodeHistory {
 public:
  // Ends those at its addresses. Without effect if it has no bytes, or would
  // end behind the last address.
  void Add(std::uint64_t begin, std::uint64_t bytes, std::string_view name,
           std::uint64_t time_ns);
  // The code was moved away from there.
  void Remove(std::uint64_t begin, std::uint64_t bytes, std::uint64_t time_ns);
  // Behind the last one: allows At().
  void Sort();
  // Indices of all that have ever had the address, by time.
  std::vector<std::size_t> At(std::uint64_t address) const;
  const TimedFunction& operator[](std::size_t index) const {
    return all_[index];
  }
  std::size_t size() const { return all_.size(); }

 private:
  std::vector<TimedFunction> all_;
  // By begin, those that have not ended; no two overlap.
  std::map<std::uint64_t, std::size_t> current_;
  // All by begin, and where the last one of those up to each ends.
  std::vector<std::size_t> by_begin_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_CODE_HISTORY_H_
