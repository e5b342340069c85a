#include "rmap/samples/rows/samples_json.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace countrace::rmap {
namespace {

using Json = nlohmann::ordered_json;

// `name`: "self" or "total".
void AddAmount(const SampledAmount& amount, const std::string& name, Json& to) {
  to[name + "_samples"] = amount.hits;
  to[name] = amount.value;
  to[name + "_lo"] = amount.lo;
  to[name + "_hi"] = amount.hi;
  to[name + "_share"] = amount.share;
}

Json BooksJson(const Samples& samples, const SampleBooks& books) {
  const SampledEvent& event = samples.events[books.event];
  Json one;
  one["event"] = event.name;
  one["rate"] = event.rate;
  one["counted"] = nullptr;
  one["residual"] = nullptr;
  if (books.counted != 0) {
    one["counted"] = books.counted;
    one["residual"] = books.residual;
  }
  one["residual_of_processes"] = nullptr;
  if (!ProcessLimits(samples, books).empty()) {
    one["residual_of_processes"] = ResidualOfProcesses(samples, books);
  }
  one["processes"] = books.processes;
  one["idle"] = books.idle;
  one["outside"] = books.outside;
  one["one_period_a_cpu"] = books.per_cpu;
  one["samples"] = books.hits;
  one["lost"] = books.lost;
  one["throttled"] = books.throttled;
  one["stacks_lost"] = books.stacks_lost;
  if (samples.lost_records != 0) one["lost_records"] = samples.lost_records;
  if (event.off_cpu) {
    one["shorter"] = books.shorter;
    one["shorter_ns"] = books.shorter_ns;
    one["lost_ns"] = books.lost_ns;
    one["unseen"] = books.unseen;
  }
  return one;
}

Json PeriodsJson(const PeriodComparison& comparison) {
  Json out;
  out["samples"] = comparison.hits;
  out["degrees_of_freedom"] = comparison.degrees_of_freedom;
  out["chi_squared"] = nullptr;
  out["p"] = nullptr;
  out["agree"] = nullptr;
  if (comparison.degrees_of_freedom == 0) return out;
  out["chi_squared"] = comparison.chi_squared;
  out["p"] = comparison.p;
  out["agree"] = !comparison.disagree();
  out["most"] = {{"function", comparison.most}, {"shares", comparison.share}};
  return out;
}

}  // namespace

Json FunctionJson(const Samples& samples, const SampleRow& row) {
  Json one = {{"event", samples.events[row.event].name},
              {"in", row.in},
              {"function", row.function},
              {"dso", row.dso},
              {"inlined", row.inlined}};
  AddAmount(row.self, "self", one);
  AddAmount(row.total, "total", one);
  return one;
}

Json BooksJson(const Samples& samples, const std::vector<SampleBooks>& books,
               const std::vector<PeriodComparison>& periods) {
  Json out = Json::array();
  for (const SampleBooks& one : books) {
    out.push_back(BooksJson(samples, one));
    for (const PeriodComparison& compared : periods) {
      if (compared.event == one.event) {
        out.back()["periods"] = PeriodsJson(compared);
      }
    }
  }
  return out;
}

}  // namespace countrace::rmap
