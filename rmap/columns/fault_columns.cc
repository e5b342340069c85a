// The table of page faults.
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "rmap/columns/column_cells.h"
#include "rmap/columns/report_tables.h"

namespace countrace::rmap {
namespace {

std::vector<Column<FaultRow>> FaultColumns(const Report&) {
  using R = FaultRow;
  return {{{"pid"}, "pid", Unit::kId, "Process.", Shared(&R::pid)},
          {{"comm"},
           "command",
           Unit::kNone,
           "Name of the process.",
           Shared(&R::comm)},
          {{"kind"},
           "kind",
           Unit::kNone,
           "user, or kernel: in a system call that used the memory; absent "
           "without --kernel faults.",
           OrAbsent(&R::kind)},
          {{"range"},
           "range",
           Unit::kNone,
           "Begin of the 2 MiB of addresses; absent: beyond 4,096 ranges of a "
           "process.",
           CellPair{[](const R& r) -> Cell {
                      if (!r.address) return std::monostate();
                      return absl::StrFormat("0x%x", *r.address);
                    },
                    [](R& r, const Cell& cell) {
                      const auto* text = std::get_if<std::string>(&cell);
                      if (text == nullptr) return IsAbsent(cell);
                      return absl::SimpleHexAtoi(*text, &r.address.emplace());
                    }}},
          {{"faults"},
           "faults",
           Unit::kCount,
           "Records of page faults.",
           Field(&R::faults)},
          {{"major"},
           "major",
           Unit::kCount,
           "Part of faults: they waited for a device; absent without --kernel "
           "faults.",
           Field(&R::major)}};
}

}  // namespace

Table<FaultRow> FaultTable() {
  return {
      .by = ReportBy::kFault,
      .option = "fault",
      .name = "faults",
      .title = "PAGE FAULTS",
      .meaning = "Page faults of a process, by kind and range of addresses.",
      .rows = &Report::faults,
      .columns = FaultColumns,
      .sum = "faults",
      .keys = {"kind", "range"},
      .order = {"faults"},
      .recorded = [](const Report& r) { return r.fault_records; },
      .not_recorded =
          "no page faults were recorded: record -e page-faults "
          "shows them, --kernel faults their kinds"};
}

}  // namespace countrace::rmap
