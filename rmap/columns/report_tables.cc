#include "rmap/columns/report_tables.h"

namespace countrace::rmap {

const char* TableName(ReportBy table) {
  switch (table) {
    case ReportBy::kDefault:
      return "";
    case ReportBy::kProcess:
      return "processes";
    case ReportBy::kThread:
      return "threads";
    case ReportBy::kSegment:
      return "segments";
    case ReportBy::kPath:
      return "segment_paths";
    case ReportBy::kCpu:
      return "cpus";
    case ReportBy::kHook:
      return "hooks";
    case ReportBy::kWaker:
      return "wakers";
    case ReportBy::kPreemptor:
      return "preemptors";
    case ReportBy::kSystemCall:
      return "syscalls";
    case ReportBy::kSample:
      return "samples";
  }
  return "";
}

}  // namespace countrace::rmap
