#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gangsched/core/result.hpp"

/// Reads a decision log and says in words what stands in it.
namespace gangsched::inline GANGSCHED_ABI::record {

/// A record of a log. Its bytes are the log's own.
struct logged_call {
  std::uint64_t number = 0;     ///< of the call, from 1; of a digest, that of the call before it
  std::string_view name = {};   ///< "add_pod", "schedule_cycle", "digest", …; static storage
  std::uint32_t scheduler = 0;  ///< which it was, in the order in which they were made, from 1; 0: the cluster
  std::uint8_t kind = 0;        ///< `told`; 0: a digest
  std::span<const std::byte> arguments = {};
  std::span<const std::byte> answer = {};  ///< equal where the same was decided
  std::span<const std::byte> words = {};  ///< of the answer: reasons and messages, which may be put otherwise elsewhere
};

/// Bytes of a log, one record after the other. They may be anything: what is no log is an error, and costs no more than its length.
class GANGSCHED_API log_reader {
 public:
  /// @p log is kept elsewhere, as long as this. Error: malformed (no log, of another version of the format, or damaged at its beginning).
  [[nodiscard]] static result<log_reader> open(std::span<const std::byte> log);
  log_reader(log_reader&&) noexcept;
  log_reader& operator=(log_reader&&) noexcept;
  ~log_reader();

  /// The next record; nothing at the end, or where the log was cut off. Error: malformed (damaged). O(size).
  [[nodiscard]] result<std::optional<logged_call>> next();
  /// Whether there is a part of a record at the end: whoever wrote it was interrupted.
  [[nodiscard]] bool cut_off() const noexcept;
  /// What `recorder_options::about` said, and which version of the library wrote it ("0.1.0").
  [[nodiscard]] std::string_view about() const noexcept;
  [[nodiscard]] std::string_view version() const noexcept;

  /// The record in words: `add_pod {name: "a", priority: 7}`; members that say nothing are left out. Objects are called by their names, if
  /// the records that made them were read before. O(size).
  [[nodiscard]] std::string text_of(const logged_call& call) const;
  /// What came of it: "pod a", "refused: unknown", decisions one after the other. O(size).
  [[nodiscard]] std::string answer_of(const logged_call& call) const;

 private:
  friend class replayer;
  class reading;
  explicit log_reader(std::unique_ptr<reading> made) noexcept;
  std::unique_ptr<reading> reading_;
};

/// Whether two records are of the same call, and the same came of it, in whatever words. O(size).
[[nodiscard]] GANGSCHED_API bool same_call(const logged_call& a, const logged_call& b) noexcept;
[[nodiscard]] GANGSCHED_API bool same_answer(const logged_call& a, const logged_call& b) noexcept;

}  // namespace gangsched::inline GANGSCHED_ABI::record
