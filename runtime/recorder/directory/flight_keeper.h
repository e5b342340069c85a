// Keeps a flight recording at its limits of size and age: overwrites the
// packets of all streams that were left longest ago
// (logformat/write/flight_stream.h).
//
// Thread: one, the recorder's.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_FLIGHT_KEEPER_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_FLIGHT_KEEPER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "logformat/session_layout.h"
#include "logformat/write/flight_stream.h"
#include "runtime/recorder/directory/registered_hooks.h"

namespace countrace::runtime {

class FlightKeeper {
 public:
  // What is kept at most: `limit_bytes`, and packets that were left in the last
  // `age_ns`; 0: of any age. `control` must outlive the object.
  FlightKeeper(std::string trace, std::uint64_t limit_bytes,
               std::uint64_t age_ns, logformat::SessionControl& control)
      : trace_(std::move(trace)),
        limit_bytes_(limit_bytes),
        age_ns_(age_ns),
        control_(control),
        hooks_(trace_) {}

  // Overwrites packets above the limits; `now_ns`: of the newest records. Cheap
  // if there are none; call it often.
  void Keep(std::uint64_t now_ns);
  // After the end of the recording, with all streams closed: gives the streams
  // the form of a finished trace. Returns the errors.
  std::vector<std::string> Finish();

  std::uint64_t overwritten_records() const;
  // The offset up to which packets of a stream file were overwritten; 0: none.
  std::uint64_t overwritten_to(const std::string& file) const;

 private:
  void FindStreams();
  // The one whose oldest packet was left first; null: none has a closed one.
  logformat::FlightStream* Oldest();
  bool DropOldest(logformat::FlightStream& stream);
  std::uint64_t closed_bytes() const;
  void Note(const absl::Status& status);

  std::string trace_;
  std::uint64_t limit_bytes_, age_ns_;
  bool is_short_ = false;  // the size is less than what the age needs
  logformat::SessionControl& control_;
  std::map<std::string, logformat::FlightStream> streams_;  // by file name
  RegisteredHooks hooks_;
  std::vector<std::string> messages_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_FLIGHT_KEEPER_H_
