#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gangsched/core/result.hpp"

/// Reads a decision log and describes its records in words.
namespace gangsched::inline GANGSCHED_ABI::record {

/// A record of a log. Its bytes belong to the log.
struct logged_call {
  std::uint64_t number = 0;     ///< of the call, from 1; of a digest, that of the call before it
  std::string_view name = {};   ///< "add_pod", "schedule_cycle", "digest", …; static storage
  std::uint32_t scheduler = 0;  ///< its number, in the order in which they were made, from 1; 0: the cluster
  std::uint8_t kind = 0;        ///< `told`; 0: a digest
  std::span<const std::byte> arguments = {};
  std::span<const std::byte> answer = {};  ///< equal iff the same was decided
  std::span<const std::byte> words = {};   ///< of the answer: reasons and messages, whose wording may differ
};

/// The bytes of a log, record by record. They may be anything: bytes that are no log are an error, at a cost of no more than their length.
class GANGSCHED_API log_reader {
 public:
  /// @p log must outlive it. Error: malformed (no log, of another version of the format, or damaged at its beginning).
  [[nodiscard]] static result<log_reader> open(std::span<const std::byte> log);
  log_reader(log_reader&&) noexcept;
  log_reader& operator=(log_reader&&) noexcept;
  ~log_reader();

  /// The next record; nothing at the end, or where the log was cut off. Error: malformed (damaged). O(size).
  [[nodiscard]] result<std::optional<logged_call>> next();
  /// Whether the log ends in the middle of a record: the writer was interrupted.
  [[nodiscard]] bool cut_off() const noexcept;
  /// The text of `recorder_options::about`, and the version of the library that wrote the log ("0.1.0").
  [[nodiscard]] std::string_view about() const noexcept;
  [[nodiscard]] std::string_view version() const noexcept;

  /// The record in words: `add_pod {name: "a", priority: 7}`; members with default values are left out. Objects are called by their names,
  /// if the records that made them were read before. O(size).
  [[nodiscard]] std::string text_of(const logged_call& call) const;
  /// The answer in words: "pod a", "refused: unknown", decisions one after the other. O(size).
  [[nodiscard]] std::string answer_of(const logged_call& call) const;

 private:
  friend class replayer;
  class reading;
  explicit log_reader(std::unique_ptr<reading> made) noexcept;
  std::unique_ptr<reading> reading_;
};

/// Whether two records are of the same call with the same outcome, whatever the wording. O(size).
[[nodiscard]] GANGSCHED_API bool same_call(const logged_call& a, const logged_call& b) noexcept;
[[nodiscard]] GANGSCHED_API bool same_answer(const logged_call& a, const logged_call& b) noexcept;

}  // namespace gangsched::inline GANGSCHED_ABI::record
