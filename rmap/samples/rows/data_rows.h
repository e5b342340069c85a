// Tables of what the data addresses of samples belong to.
//
// In: Samples::data_sums. Out: rows, most first. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_ROWS_DATA_ROWS_H_
#define COUNTRACE_RMAP_SAMPLES_ROWS_DATA_ROWS_H_

#include "logformat/trace_info.h"
#include "rmap/result/data_detail.h"
#include "rmap/result/sample_table.h"
#include "rmap/result/tables.h"
#include "rmap/samples/rows/place_rows.h"

namespace countrace::rmap {

// `report`: with samples, their data by `detail`, and processes.
SampleTable MakeDataTable(const Report& report,
                          const logformat::TraceInfo& info, DataDetail detail,
                          const SampleChoice& choice = {});

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_ROWS_DATA_ROWS_H_
