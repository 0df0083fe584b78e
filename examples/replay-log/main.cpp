// Decision logs: replays one, compares two, or shows one; docs/decision-log.md is the user's page.
#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <fstream>
#include <gangsched/kube/configuration.hpp>
#include <gangsched/profiles.hpp>
#include <gangsched/record/log_reader.hpp>
#include <gangsched/record/replayer.hpp>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "replay-log/options.hpp"

namespace {

using namespace replay_log;
using namespace gangsched;
using record::log_reader;
using record::logged_call;

struct bad_input : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string read_file(const std::string& name) {
  std::ifstream from{name, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{from}, {}};
  if (!from) throw bad_input{name + ": cannot be read"};
  return text;
}

/// A log, and its bytes.
struct log_file {
  explicit log_file(const std::string& called) : name(called), text(read_file(called)) {
    auto opened = log_reader::open(bytes());
    if (!opened) throw bad_input{name + ": " + opened.error().message()};
    reader.emplace(*std::move(opened));
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span{text.data(), text.size()}); }
  std::optional<logged_call> next() {
    auto made = reader->next();
    if (!made) throw bad_input{name + ": " + made.error().message()};
    return *made;
  }
  std::string name, text;
  std::optional<log_reader> reader;
};

void say_cut_off(const log_reader& of) {
  if (of.cut_off()) fmt::print("the log ends in the middle of a record\n");
}

int show(log_file log, const command_line& how) {
  const std::string about{log.reader->about()};
  fmt::print("by gangsched {}{}\n", std::string{log.reader->version()}, about.empty() ? "" : ": " + about);
  while (const auto call = log.next()) {
    if (call->number > how.to) return 0;
    if (call->number < how.from) continue;
    const std::string answer = log.reader->answer_of(*call);
    fmt::print("{:>6}  {}{}{}\n", call->number, log.reader->text_of(*call), answer.empty() ? "" : "\n        => ",
               answer);
  }
  say_cut_off(*log.reader);
  return 0;
}

int compare(log_file a, log_file b) {
  for (std::uint64_t calls = 0;;) {
    const auto mine = a.next(), theirs = b.next();
    const bool same = mine && theirs && same_call(*mine, *theirs) && same_answer(*mine, *theirs);
    if (!mine && !theirs) return fmt::print("the same: {} calls\n", calls), 0;
    if (same) {
      calls = mine->number;
      continue;
    }
    fmt::print("call {} differs\n", (mine ? *mine : *theirs).number);
    for (const auto& [from, call] : {std::pair{&a, &mine}, std::pair{&b, &theirs}}) {
      fmt::print("  {}: {}\n", from->name, *call ? from->reader->text_of(**call) : "ends before it");
      if (*call) fmt::print("    => {}\n", from->reader->answer_of(**call));
    }
    return 1;
  }
}

std::vector<kernel_table> configured(const kube::source& from) {
  const plugin_registry plugins = builtin_plugins();
  const auto read = kube::read_configuration(from, plugins);
  if (!read) throw bad_input{read.error().message()};
  auto made = kube::make_tables(*read, plugins);
  if (!made) throw bad_input{made.error().message()};
  return *std::move(made);
}

/// Those that the scheduler may have had; where nothing is said the log's plugins tell which it was.
std::vector<std::vector<kernel_table>> profiles_of(const command_line& how) {
  if (!how.config.empty()) return {configured({how.config, read_file(how.config)})};
  std::vector<std::vector<kernel_table>> made;
  const auto may_be = [&](std::string_view name) { return how.profile.empty() || how.profile == name; };
  if (may_be("kube-default")) made.push_back({profiles::kube_default()});
  if (may_be("kube-scheduler")) made.push_back(configured({"defaults", ""}));
  if (how.profile == "with-queues") made.push_back({profiles::with_queues()});
  if (how.profile == "bin-packing") made.push_back({profiles::bin_packing()});
  return made;
}

int replay(const log_file& log, const command_line& how) {
  std::string refused;
  for (const std::vector<kernel_table>& profiles : profiles_of(how)) {
    auto made = record::replayer::open(log.bytes(), {.profiles = [&](std::uint32_t) { return profiles; }});
    if (!made) throw bad_input{log.name + ": " + made.error().message()};
    const auto parted = made->run(how.to);
    if (!parted) {
      refused = log.name + ": " + parted.error().message();
      if (parted.error().code == errc::wrong_state) continue;  // of another profile
      break;
    }
    if (!*parted) {
      fmt::print("the same: {} calls, digest of the cluster {:x}\n", made->calls(), made->cluster().digest());
      return say_cut_off(made->log()), 0;
    }
    const record::replay_difference& where = **parted;
    fmt::print("call {} differs: {}\n  recorded: {}\n  here:     {}\n", where.call.number, where.text, where.recorded,
               where.here);
    return 1;
  }
  throw bad_input{refused};
}

int run(const command_line& how) {
  if (how.show) return show(log_file{how.log}, how);
  if (!how.other.empty()) return compare(log_file{how.log}, log_file{how.other});
  return replay(log_file{how.log}, how);
}

}  // namespace

int main(int argc, char** argv) {
  const auto [options, exit_code] = replay_log::parse(argc, argv);
  if (exit_code) return *exit_code;
  try {
    return run(options);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "error: {}\n", failure.what());
    return 2;
  }
}
