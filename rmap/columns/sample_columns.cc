// Columns of the tables of samples. Those for programs: event, group, context,
// place, amounts.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "logformat/sample_points.h"
#include "rmap/columns/column_cells.h"
#include "rmap/columns/report_columns.h"
#include "rmap/result/samples.h"
#include "rmap/samples/rows/data_source.h"

namespace countrace::rmap {
namespace {

using R = SampleRow;
using SampleColumnList = std::vector<Column<R>>;

void AddGroup(const std::shared_ptr<const SampleTable>& table,
              SampleColumnList& columns) {
  const auto add = [&](const std::string& name, Unit unit, const char* meaning,
                       auto part) {
    columns.push_back(
        {{name}, name, unit, meaning, [table, part](const R& row) {
           return CellOf(table->groups[row.group], part);
         }});
  };
  const bool threads = table->group_by == "thread";
  const bool processes = threads || table->group_by == "process";
  if (table->group_by.empty()) return;
  add(processes ? "comm" : table->group_by, Unit::kNone,
      "Whose samples: the name that it had last.", &SampleGroup::name);
  if (processes) add("pid", Unit::kId, "Its process.", &SampleGroup::pid);
  if (threads) add("tid", Unit::kId, "Its thread.", &SampleGroup::tid);
}

void AddNames(SampleBy by, SampleColumnList& columns) {
  const auto add = [&](const char* name, const char* meaning, auto value) {
    columns.push_back({{name}, name, Unit::kNone, meaning, value});
  };
  const auto add_address = [&] {
    add("address", "Where code is in its file, data in its process.",
        [](const R& row) -> Cell {
          return absl::StrFormat("0x%x", row.address);
        });
  };
  if (by == SampleBy::kDataSource) {
    const auto add_word = [&](const char* name, const char* meaning,
                              std::string DataSource::*part) {
      add(name, meaning, [part](const R& row) -> Cell {
        return DecodeDataSource(row.data_source).*part;
      });
    };
    add_word("access", "Load, store, prefetch or execute.",
             &DataSource::access);
    add_word("memory", "Where the data was.", &DataSource::memory);
    add_word("snoop", "In other caches.", &DataSource::snoop);
    add_word("tlb", "Which TLB had the page.", &DataSource::tlb);
    add_word("locked", "An atomic access.", &DataSource::locked);
    return;
  }
  if (by >= SampleBy::kData) {
    add("data", "The object, or kind of memory.", Field(&R::data));
    add("of", "Whose memory.", Field(&R::of));
    add("dso", "The file that it is mapped from.", Field(&R::dso));
    if (by != SampleBy::kData) add_address();
    return;
  }
  const bool lines = by == SampleBy::kLine || by == SampleBy::kFile;
  const bool functions =
      by == SampleBy::kFunctionInstruction ||
      (!lines && by != SampleBy::kDso && !IsOfInstructions(by));
  if (functions) add("function", "Its name, or a bucket.", Field(&R::function));
  if (lines)
    add("source", "The file of the source code, and its line.",
        Field(&R::source));
  if (by != SampleBy::kInstruction && by != SampleBy::kInstructionClass) {
    add("dso", "The file of the code.", Field(&R::dso));
  }
  if (IsOfInstructions(by)) {
    if (by != SampleBy::kInstructionClass) {
      add("instruction", "Its mnemonic, or a bucket.", Field(&R::instruction));
    }
    add("class", "What instructions do: branch, load, integer, ...",
        Field(&R::instruction_class));
    return;
  }
  if (by == SampleBy::kAddress) {
    add_address();
    add("source", "The file of the source code, and its line.",
        Field(&R::source));
  }
  if (!functions) return;
  columns.push_back({{"inlined"},
                     "",
                     Unit::kCount,
                     "Its code is part of another function's.",
                     [](const R& row) -> Cell { return row.inlined; }});
}

// `what`: whose amounts.
void AddAmounts(const std::string& name, const char* what, Unit unit,
                SampledAmount R::*amount, SampleColumnList& columns) {
  const auto add = [&](const char* end, const std::string& title, Unit of,
                       const std::string& meaning, auto part) {
    columns.push_back({{name + end}, title, of, meaning, Field(amount, part)});
  };
  add("_samples", "", Unit::kCount, absl::StrFormat("Samples %s.", what),
      &SampledAmount::hits);
  add("", name, unit, "Their periods: an estimate of what was counted.",
      &SampledAmount::value);
  add("_lo", "", unit, "Lower limit of that.", &SampledAmount::lo);
  add("_hi", "", unit, "Upper limit.", &SampledAmount::hi);
}

void AddShare(const std::string& name, SampledAmount R::*amount,
              SampleColumnList& columns) {
  columns.push_back({{name + "_share"},
                     name + " of all",
                     Unit::kCount,
                     "Part (0 to 1) of all samples of the event.",
                     Field(amount, &SampledAmount::share),
                     true});
}

bool IsAmount(const Column<R>& column) {
  const std::string& name = column.name.front();
  return name.starts_with("self") || name.starts_with("total") ||
         name == "weights";
}

Column<R>* Find(const std::string& name, SampleColumnList& columns) {
  const auto found =
      std::find_if(columns.begin(), columns.end(),
                   [&](const auto& one) { return one.name.front() == name; });
  return found == columns.end() ? nullptr : &*found;
}

std::string FunctionText(const R& row) {
  // Deep recursion would push the names out of sight.
  constexpr std::uint32_t kDeepest = 40;
  return std::string(2 * std::min(row.depth, kDeepest), ' ') + row.function +
         (row.inlined ? " (inlined)" : "");
}

// Its amounts are nanoseconds.
bool CountsTime(const std::string& event) {
  return event.starts_with("cpu-clock") || event.starts_with("task-clock") ||
         logformat::IsOffCpu(event);
}

}  // namespace

std::string SampleAmountText(const std::string& event, double value) {
  return CountsTime(event) ? base::FormatNanoseconds(value)
                           : base::FormatShortCount(value);
}

std::string SampleEstimateText(const std::string& event,
                               const SampledAmount& amount) {
  if (amount.hits == 0) return "-";
  return (amount.exact ? "" : "~") +
         SampleAmountText(event, static_cast<double>(amount.value));
}

std::string SampleShareText(const SampledAmount& amount) {
  if (amount.hits == 0) return "-";
  if (amount.exact) return absl::StrFormat("%.1f %%", amount.share * 100);
  return absl::StrFormat("~%.1f %% [%.1f, %.1f]", amount.share * 100,
                         amount.share_lo * 100, amount.share_hi * 100);
}

std::vector<Column<SampleRow>> SampleColumns(const Report& report) {
  const std::shared_ptr<const SampleTable> table = report.sample_table;
  const std::shared_ptr<const Samples> samples = report.samples;
  const std::vector<SampledEvent>& events = samples->events;
  const bool times = !events.empty() &&
                     std::all_of(events.begin(), events.end(),
                                 [](auto& e) { return CountsTime(e.name); });
  const Unit unit = times ? Unit::kNanoseconds : Unit::kCount;
  const auto any = [&](const auto& has) {
    return std::any_of(table->rows.begin(), table->rows.end(), has);
  };
  SampleColumnList columns = {{{"event"},
                               events.size() > 1 ? "event" : "",
                               Unit::kNone,
                               "The sampled event.",
                               [samples](const R& row) -> Cell {
                                 return samples->events[row.event].name;
                               }}};
  AddGroup(table, columns);
  if (table->has_in()) {
    columns.push_back(
        {{"in"},
         any([](const R& row) { return !row.in.empty(); }) ? "in" : "",
         Unit::kNone,
         "The segment that was open, and the system call in it.",
         Field(&R::in)});
  }
  if (table->is_tree()) {
    columns.push_back({{"depth"},
                       "",
                       Unit::kCount,
                       "Levels above it in the tree.",
                       Field(&R::depth)});
  }
  AddNames(table->by, columns);
  if (table->of_instructions()) {
    AddAmounts("self", "at it", unit, &R::self, columns);
    AddShare("self", &R::self, columns);
    return columns;
  }
  if (table->by >= SampleBy::kData) {
    AddAmounts("self", "of its data", unit, &R::self, columns);
    Find("self_samples", columns)->title = "samples";
    columns.push_back(
        {{"weights"},
         any([](const R& row) { return row.weights > 0; }) ? "mean weight" : "",
         Unit::kCount,
         "Sum of the weights of the samples, by the PMU.",
         Field(&R::weights)});
    AddShare("self", &R::self, columns);
    return columns;
  }
  AddAmounts("self", "with it innermost", unit, &R::self, columns);
  AddAmounts("total", "with it anywhere in the stack", unit, &R::total,
             columns);
  AddShare("self", &R::self, columns);
  AddShare("total", &R::total, columns);
  return columns;
}

std::vector<Column<SampleRow>> SampleTextColumns(const Report& report) {
  SampleColumnList columns = SampleColumns(report);
  for (const auto& [name, amount] :
       {std::pair{"self", &R::self}, std::pair{"total", &R::total}}) {
    if (Column<R>* const value = Find(name, columns)) {
      value->value = [samples = report.samples,
                      amount = amount](const R& row) -> Cell {
        return SampleEstimateText(samples->events[row.event].name, row.*amount);
      };
    }
    if (Column<R>* const share = Find(name + std::string("_share"), columns)) {
      share->value = [amount = amount](const R& row) -> Cell {
        return SampleShareText(row.*amount);
      };
    }
  }
  if (Column<R>* const function = Find("function", columns)) {
    function->value = [](const R& row) -> Cell { return FunctionText(row); };
  }
  if (Column<R>* const weights = Find("weights", columns)) {
    weights->value = [](const R& row) -> Cell {
      return absl::StrFormat("%.1f", static_cast<double>(row.weights) /
                                         static_cast<double>(row.self.hits));
    };
  }
  std::stable_partition(columns.begin() + 1, columns.end(), IsAmount);
  return columns;
}

}  // namespace countrace::rmap
