#include "rmap/tables/rows/hook_rows.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "rmap/tables/rows/waker_rows.h"

namespace countrace::rmap {

namespace {

// Takes the hits with a value out of `row`, into rows of their own.
void AddValues(const TableInput& input, const ProcessState& process,
               std::uint32_t id, HookRow& row, Report& report) {
  if (input.in.values == nullptr) return;
  const ValueTable& table = input.in.values->table();
  std::map<std::uint32_t, std::uint64_t> hits;
  for (auto of = process.value_hits.lower_bound({id, 0});
       of != process.value_hits.end() && of->first.first == id; ++of) {
    hits[table.Settled(of->first.second)] += of->second;
  }
  for (const auto& [value, times] : hits) {
    HookRow with = row;
    with.hits = times;
    with.grouped.argument = table.TextOf(value);
    row.hits -= times;
    report.hooks.push_back(std::move(with));
  }
}

void AddHooks(const TableInput& input, const ProcessState& process,
              const std::vector<std::uint64_t>& hits, std::uint32_t first_id,
              Report& report) {
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (hits[i] == 0) continue;
    const auto id = first_id + static_cast<std::uint32_t>(i);
    HookRow row = {HookName(input.in.info, id), process.pid, process.index,
                   process.comm, hits[i]};
    row.hook_id = id;
    AddValues(input, process, id, row, report);
    for (auto of = process.block_requests.lower_bound({id, ""});
         input.in.rows.value.empty() && of != process.block_requests.end() &&
         of->first.first == id;
         ++of) {
      HookRow device = row;
      device.hits = of->second.hits;
      device.requests = HookRow::Requests{of->first.second, of->second.bytes};
      row.hits -= device.hits;
      report.hooks.push_back(std::move(device));
    }
    if (row.hits != 0) report.hooks.push_back(std::move(row));
  }
}

}  // namespace

void BuildHooks(const TableInput& input, Report& report) {
  // Growing would need the memory of two copies.
  std::size_t rows = 0;
  const auto count = [&rows](const ProcessState& process) {
    const auto hit = [](std::uint64_t hits) { return hits != 0; };
    rows += std::ranges::count_if(process.hits.hits, hit) +
            std::ranges::count_if(process.kernel_hook_hits, hit) +
            process.block_requests.size() + process.value_hits.size();
  };
  std::ranges::for_each(input.in.registry.processes(), count);
  count(input.in.registry.interrupts());
  report.hooks.reserve(rows);
  for (const ProcessState& process : input.in.registry.processes()) {
    AddHooks(input, process, process.hits.hits, 0, report);
    AddHooks(input, process, process.kernel_hook_hits,
             logformat::kHookIdKernelMin, report);
  }
  const ProcessState& interrupts = input.in.registry.interrupts();
  AddHooks(input, interrupts, interrupts.kernel_hook_hits,
           logformat::kHookIdKernelMin, report);
  std::sort(report.hooks.begin(), report.hooks.end(),
            [](const HookRow& a, const HookRow& b) {
              return std::tie(b.hits, a.hook, a.pid, a.process,
                              a.requests.Read().device) <
                     std::tie(a.hits, b.hook, b.pid, b.process,
                              b.requests.Read().device);
            });
}

}  // namespace countrace::rmap
