// The tables that have a row for each thing that happened, not for a sum; made
// while a trace is read. Declared once: the schema here is what writers get and
// what docs/tables.md lists.
#ifndef COUNTRACE_RMAP_EXPORT_STREAMED_TABLES_H_
#define COUNTRACE_RMAP_EXPORT_STREAMED_TABLES_H_

#include <cstdint>
#include <vector>

#include "rmap/export/table_schema.h"

namespace countrace::rmap {

enum class Streamed : std::uint8_t {
  kDispatches,
  kCalls,
  kPoints,
  kWaits,
  kWakeups,
  kCounts,
  kLosses,
  kSamples,
  kFrames,
  kMeta
};
inline constexpr std::size_t kStreamed = 10;

// In the order of Streamed.
const std::vector<TableSchema>& StreamedTables();

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_STREAMED_TABLES_H_
