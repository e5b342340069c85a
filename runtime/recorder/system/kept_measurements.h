// Numbers that one recording measured and the next ones read, until the machine
// is started again.
//
// A file of text, a line for each key: KEY TAB NUMBER {" " NUMBER}. Its first
// line names the boot and the kernel; with any other first line nothing of it
// is used. Only its own user can have written it: a folder or file that belongs
// to another one or that others may write, and a link, are left alone. Thread:
// one; other processes may read and store at the same time.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_KEPT_MEASUREMENTS_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_KEPT_MEASUREMENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace countrace::runtime {

class KeptMeasurements {
 public:
  using Numbers = std::vector<std::uint32_t>;
  using Entries = std::vector<std::pair<std::string, Numbers>>;
  static constexpr std::size_t kMostKeys = 64;  // the newest

  // `folder`: is made when something is stored, if its parent exists.
  KeptMeasurements(std::string folder, std::string first_line);
  // For this process's user, this boot and this kernel.
  static KeptMeasurements OfThisBoot();

  // Empty: none.
  Numbers Find(const std::string& key) const;
  // Returns whether they were stored: not where the folder cannot be used, or
  // another process is storing.
  bool Store(const Entries& measured) const;

 private:
  Entries Read(int folder) const;

  std::string folder_, first_line_;
  Entries entries_;  // as read first
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_KEPT_MEASUREMENTS_H_
