// Adds a row to another: the fields of each kind of row.
#ifndef COUNTRACE_RMAP_WHERE_ROW_SUMS_H_
#define COUNTRACE_RMAP_WHERE_ROW_SUMS_H_

#include "rmap/result/tables.h"

namespace countrace::rmap::where {

// `sum` becomes the sum of both but for its limits; names and ids that they
// differ in become empty, 0 or absent, call paths what they share innermost.
void AddRow(const ProcessRow& more, ProcessRow& sum);
void AddRow(const ThreadRow& more, ThreadRow& sum);
void AddRow(const SegmentRow& more, SegmentRow& sum);
void AddRow(const HookRow& more, HookRow& sum);
void AddRow(const FaultRow& more, FaultRow& sum);
void AddRow(const FileRow& more, FileRow& sum);
void AddRow(const LevelRow& more, LevelRow& sum);
void AddRow(const WakerRow& more, WakerRow& sum);
void AddRow(const PreemptorRow& more, PreemptorRow& sum);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_ROW_SUMS_H_
