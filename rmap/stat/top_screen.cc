#include "rmap/stat/top_screen.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/text/quantity_format.h"
#include "rmap/report/report_render.h"
#include "rmap/where/row_order.h"

namespace countrace::rmap {
namespace {

constexpr std::string_view kKeys =
    "p processes  t threads  s segments  b both  < > order  space pause  q "
    "quit";
constexpr std::string_view kNoRows =
    "nothing here: segments are those of programs with hooks and the runtime "
    "library";
// What rows can be sorted by, besides the counts of events.
constexpr const char* kFields[] = {
    "on_cpu_ns",    "wait_ns",     "blocked_ns",  "dispatches", "migrations",
    "wall_ns.excl", "wall_ns.p99", "wall_ns.max", "calls",      "threads"};

// The part of a line that fits, as bytes of a name that is safe to print. An
// escape sequence of colour has no width.
std::string Cut(std::string_view line, std::size_t columns) {
  std::string out;
  std::size_t used = 0;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == '\x1b') {
      const std::size_t end = std::min(line.find('m', i), line.size() - 1);
      out += line.substr(i, end + 1 - i);
      i = end + 1;
      continue;
    }
    std::size_t bytes = 1;
    while (i + bytes < line.size() &&
           (static_cast<unsigned char>(line[i + bytes]) & 0xc0u) == 0x80u) {
      ++bytes;
    }
    if (used++ < columns) out += line.substr(i, bytes);
    i += bytes;
  }
  return out;
}

// The table of a text report, without its summaries; at most `lines` lines.
// Requires: it has rows.
std::vector<std::string> TableLines(const std::string& text,
                                    std::size_t lines) {
  const std::size_t begin = text.find("\n\n");
  if (begin == text.npos) return {};
  std::size_t end = text.find("\n\n", begin + 2);
  if (end == text.npos) end = text.size();
  std::vector<std::string> table =
      absl::StrSplit(text.substr(begin + 2, end - begin - 2), '\n');
  while (!table.empty() && table.back().empty()) table.pop_back();
  if (table.size() > lines) table.resize(lines);
  return table;
}

std::size_t RowsOfTable(const Report& report, ReportBy by) {
  return by == ReportBy::kProcess  ? report.processes.size()
         : by == ReportBy::kThread ? report.threads.size()
                                   : report.segments.size();
}

}  // namespace

std::vector<ReportBy> TopScreen::Tables() const {
  switch (table_) {
    case 'p':
      return {ReportBy::kProcess};
    case 't':
      return {ReportBy::kThread};
    case 's':
      return {ReportBy::kSegment};
    default:
      return {ReportBy::kProcess, ReportBy::kSegment};
  }
}

std::vector<std::string> TopScreen::Orders() const {
  std::vector<std::string> fields(std::begin(kFields), std::end(kFields));
  for (const std::string& event : EventNames(report_.events)) {
    fields.push_back("counts." + event);
    fields.push_back("counts." + event + ".incl");
  }
  std::vector<std::string> orders = {""};
  for (const std::string& field : fields) {
    for (const ReportBy table : Tables()) {
      if (!where::CheckOrder(field, report_, table).ok()) continue;
      orders.push_back(field);
      break;
    }
  }
  return orders;
}

void TopScreen::Sort() {
  sorted_ = report_;
  if (order_.empty()) return;
  if (where::CheckOrder(order_, sorted_, ReportBy::kDefault).ok()) {
    where::SortRows(order_, sorted_);
  }
}

bool TopScreen::Key(char key) {
  switch (key) {
    case 'q':
      return false;
    case 'p':
    case 't':
    case 's':
    case 'b':
      table_ = key;
      order_.clear();
      break;
    case ' ':
      paused_ = !paused_;
      return true;
    case '<':
    case '>': {
      const std::vector<std::string> orders = Orders();
      const auto at = std::find(orders.begin(), orders.end(), order_);
      const auto place = static_cast<std::size_t>(
          at == orders.end() ? 0 : at - orders.begin());
      const std::size_t step = key == '>' ? 1 : orders.size() - 1;
      order_ = orders[(place + step) % orders.size()];
      break;
    }
    default:
      return true;
  }
  if (any_) Sort();
  return true;
}

void TopScreen::Show(Report report, std::string clock) {
  report_ = std::move(report);
  clock_ = std::move(clock);
  any_ = true;
  said_.clear();
  Sort();
}

// "CPUs: 61.3 % busy, 38.7 % idle of 2.00 s; countrace itself 1.1 %".
std::string TopScreen::Heading() const {
  std::uint64_t wall = 0, busy = 0, idle = 0, interrupts = 0, unknown = 0;
  for (const CpuRow& row : report_.cpu_rows) {
    wall += row.wall_ns;
    busy += row.busy_ns;
    idle += row.idle_ns + row.outside_ns;
    interrupts += row.interrupts_ns;
    unknown += row.unattributed_ns;
  }
  std::uint64_t own = 0;
  for (const ProcessRow& row : report_.processes) {
    if (row.pid == own_pid_) own += row.on_cpu_ns.value_or(0);
  }
  std::string text =
      absl::StrFormat("CPUs: %s busy, %s idle", base::FormatShare(busy, wall),
                      base::FormatShare(idle, wall));
  if (interrupts != 0) {
    text += ", " + base::FormatShare(interrupts, wall) + " interrupts";
  }
  if (unknown != 0) {
    text += ", " + base::FormatShare(unknown, wall) + " unattributed";
  }
  absl::StrAppendFormat(&text, " of %s; countrace itself %s",
                        base::FormatNanoseconds(static_cast<double>(wall)),
                        base::FormatShare(own, wall));
  const logformat::LossStatement statement = logformat::StateLoss(report_.loss);
  if (statement.is_loss) text += "; " + statement.text;
  return text;
}

std::vector<std::string> TopScreen::Lines(std::size_t columns,
                                          std::size_t lines, bool color) const {
  std::vector<std::string> out;
  std::string title = of_;
  if (any_) {
    absl::StrAppendFormat(&title, "  %s until %s%s",
                          base::FormatNanoseconds(static_cast<double>(
                              report_.end_ns - report_.begin_ns)),
                          clock_, paused_ ? "  PAUSED" : "");
    if (!order_.empty()) title += "  by " + order_;
  }
  out.push_back(title);
  if (any_ && said_.empty()) {
    out.push_back(Heading());
  } else {
    out.push_back(said_);
  }
  std::vector<ReportBy> tables;
  if (any_) tables = Tables();
  if (tables.size() == 2 && report_.segments.empty()) tables.pop_back();
  // Title, summary and keys stay; each table has a blank line, a title and a
  // heading of its own, and up to four lines about what is not shown.
  std::size_t left = lines > 3 ? lines - 3 : 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::size_t share =
        i + 1 == tables.size()
            ? left
            : std::max(
                  left / 2,
                  left - std::min(left, RowsOfTable(report_, tables[1]) + 5));
    RenderOptions options;
    options.by = tables[i];
    options.width = columns;
    options.color = color;
    options.max_rows =
        share > 16 ? share - 6 : std::max<std::size_t>(share, 5) - 4;
    std::vector<std::string> table;
    if (RowsOfTable(report_, tables[i]) != 0) {
      table =
          TableLines(RenderReport(sorted_, options), share > 1 ? share - 1 : 0);
    } else {
      table.emplace_back(kNoRows);
    }
    table.insert(table.begin(), "");
    left -= std::min(left, table.size());
    out.insert(out.end(), table.begin(), table.end());
  }
  out.resize(lines > 1 ? lines - 1 : 0);
  if (lines != 0) out.emplace_back(kKeys);
  for (std::string& line : out) line = Cut(line, columns);
  return out;
}

}  // namespace countrace::rmap
