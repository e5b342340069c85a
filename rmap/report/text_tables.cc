#include "rmap/report/text_tables.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/str_join.h"
#include "rmap/tables/bounds/bounds_summary.h"

namespace countrace::rmap {

std::string FormatCell(const Cell& cell, Unit unit) {
  return std::visit(
      [unit](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate>) {
          return "-";
        } else if constexpr (std::is_same_v<Value, std::string>) {
          return base::EscapeName(value);
        } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          std::string joined;
          for (const std::string& name : value) {
            joined += (joined.empty() ? "" : " > ") + base::EscapeName(name);
          }
          return joined;
        } else if constexpr (std::is_arithmetic_v<Value> &&
                             !std::is_same_v<Value, bool>) {
          if (unit == Unit::kId) return std::to_string(value);
          if (unit == Unit::kNanoseconds) {
            return base::FormatNanoseconds(static_cast<double>(value));
          }
          if (value < Value{}) {
            return "-" +
                   base::FormatCount(~static_cast<std::uint64_t>(value) + 1);
          }
          return base::FormatCount(static_cast<std::uint64_t>(value));
        } else {
          return "";
        }
      },
      cell);
}

std::string ProcessName(const std::string& comm, std::int32_t pid) {
  const std::string name = comm.empty() ? "(no name)" : base::EscapeName(comm);
  return absl::StrFormat("%s (pid %d)", name, pid);
}

std::string QualityLetters(Qualities qualities, bool has_estimates) {
  std::string letters;
  if (qualities.Has(Quality::kScaled) && !has_estimates) letters += 's';
  if (qualities.Has(Quality::kBounded)) letters += 'b';
  if (qualities.Has(Quality::kInferred)) letters += 'i';
  return letters;
}

void TextTables::Title(const std::string& title) {
  out_ +=
      options_.color ? "\n\x1b[1m" + title + "\x1b[0m\n" : "\n" + title + "\n";
}

std::size_t TextTables::RowLimit(std::size_t rows) const {
  return options_.max_rows == 0 ? rows : std::min(rows, options_.max_rows);
}

void TextTables::Finish(const base::TextTable& table, std::size_t rows,
                        std::size_t shown, bool marks) {
  out_ += table.Render(options_.width, options_.color);
  if (shown < rows) {
    out_ += absl::StrFormat("  (%s more rows not shown)\n",
                            base::FormatCount(rows - shown));
  }
  if (marks) {
    out_ += absl::StrFormat(
        "  (s: scaled, multiplexed counters; b: bounded, %s;\n   i: "
        "inferred, an enter, exit or switch was not recorded%s)\n",
        absl::StrJoin(BoundsReasons(report_), " and ",
                      [](std::string* out, const BoundsReason& reason) {
                        *out += reason.what;
                      }),
        options_.bounds ? "" : "; --bounds prints the limits");
  }
}

}  // namespace countrace::rmap
