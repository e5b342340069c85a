// A report as lines of text, number by number, to compare with what a test
// expects.
#ifndef COUNTRACE_TESTS_RMAP_REPORT_LINES_H_
#define COUNTRACE_TESTS_RMAP_REPORT_LINES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rmap/result/tables.h"

namespace countrace::test_support {

struct TableLines {
  std::string table;  // "trace", "processes", "threads", ...
  std::string lines;  // one for each row, each ends with \n
};

std::vector<TableLines> ShowTables(const rmap::Report& report);

// All tables.
std::string Show(const rmap::Report& report);

// FNV-1a of the texts so far and `text`.
inline constexpr std::uint32_t kChecksumOfNothing = 2166136261u;
std::uint32_t Checksum(std::uint32_t before, std::string_view text);

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_REPORT_LINES_H_
