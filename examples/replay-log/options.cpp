#include "replay-log/options.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <gangsched/version.hpp>

#define GANGSCHED_TEXT_OF(x) #x
#define GANGSCHED_TEXT(x) GANGSCHED_TEXT_OF(x)

namespace replay_log {
namespace {

constexpr const char* version = "gangsched-replay-log " GANGSCHED_TEXT(GANGSCHED_VERSION_MAJOR) "." GANGSCHED_TEXT(
    GANGSCHED_VERSION_MINOR) "." GANGSCHED_TEXT(GANGSCHED_VERSION_PATCH);

constexpr const char* about =
    R"(Reads a decision log: every call that a host made on a cluster and its schedulers. Makes the calls once more and says where another
decision comes of one; or finds where two logs part; or shows what stands in one.)";

constexpr const char* more =
    R"(Examples
  gangsched-replay-log decisions.log                       does this build decide as it did?
  gangsched-replay-log decisions.log --config scheduler.yaml
  gangsched-replay-log decisions.log --show --from 40 --to 60
  gangsched-replay-log before.log after.log                the first call that is another, or was answered otherwise

Exit codes: 0 the same; 1 something differs; 2 a mistake in the command line, or no log.)";

}  // namespace

parsed parse(int argc, char** argv) {
  parsed result;
  command_line& to = result.options;
  CLI::App app{about, "gangsched-replay-log"};
  app.footer(more);
  app.get_formatter()->column_width(28);
  app.set_version_flag("--version", version, "Print the version and exit");
  app.add_option("LOG", to.log, "The log")->required()->type_name(" ");
  CLI::Option* const other = app.add_option("OTHER", to.other, "Another one to compare it with")->type_name(" ");
  CLI::Option* const config =
      app.add_option("--config", to.config, "KubeSchedulerConfiguration that the scheduler had")->type_name("FILE");
  app.add_option("--profile", to.profile,
                 "Or which of the library's profiles [kube-default, or kube-scheduler with no configuration]")
      ->type_name("kube-default|kube-scheduler|with-queues|bin-packing")
      ->excludes(config)
      ->check(CLI::IsMember({"kube-default", "kube-scheduler", "with-queues", "bin-packing"}).description(""));
  app.add_flag("--show", to.show, "Show the calls, and replay nothing")->excludes(other);
  app.add_option("--from", to.from, "First call to show")->type_name("N")->capture_default_str();
  app.add_option("--to", to.to, "Last call to show, or to make [all]")->type_name("N");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    result.exit_code = app.exit(failure) == 0 ? 0 : 2;
  }
  return result;
}

}  // namespace replay_log
