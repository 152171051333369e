#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include <fleet/core/config.hpp>
#include <fleet/job/environment.hpp>
#include <fleet/launch/launch.hpp>

namespace {

constexpr char const* examples = R"(
Examples:
  Two workers on this host:
    fleetrun --nproc_per_node=2 ./train data
  One worker for each of two GPUs:
    fleetrun --gpus=0,1 ./train data
  Two hosts with four workers each; the same two lines on both:
    export FLEET_JOB_TOKEN=...          # one secret that you make up, the same everywhere
    fleetrun --ips=10.0.0.1,10.0.0.2 --nproc_per_node=4 ./train data
  See what would be started, without starting it:
    fleetrun --nproc_per_node=2 --dry-run ./train data

Options stand before the program; everything after it goes to the program as it is.
Each rank's output is in LOG_DIR/workerlog.RANK and, line by line, on the console.

Exit status: 0, or that of the rank that failed first (128 + N if signal N ended it), or 128 + N if
signal N stopped fleetrun; 2 wrong settings, 126 program not executable, 127 program not found.)";

struct Help : CLI::Formatter {
  std::string make_usage(CLI::App const*, std::string) const override {
    return "Usage: fleetrun [options] PROGRAM [arguments]\n\n";
  }
};

}  // namespace

int main(int argc, char** argv) {
  fleet::launch::Settings settings;
  int grace = static_cast<int>(settings.grace.count());

  CLI::App app{"Starts one program as several workers that train together.", "fleetrun"};
  app.formatter(std::make_shared<Help>());
  app.footer(examples);
  app.prefix_command();
  app.set_version_flag("--version", "fleetrun " FLEET_VERSION);
  app.add_option("--nproc_per_node", settings.nproc_per_node, "Workers on each host; default: one a GPU, else 1");
  app.add_option("--gpus,--selected_gpus", settings.gpus, "Devices to use, such as 0,1,3; shared out among the workers")
      ->type_name("LIST");
  app.add_option("--ips", settings.ips, "Hosts of the job, comma-separated, the same list on each; default: this host")
      ->type_name("LIST");
  app.add_option("--node_ip", settings.node_ip, "Which entry of --ips this host is; default: POD_IP, else found out")
      ->type_name("ADDRESS");
  app.add_option("--log_dir", settings.log_dir, "Folder for one log file a rank; default: log")->type_name("FOLDER");
  app.add_option("--http_port", settings.http_port,
                 "Port on the first host where workers find each other; default: any free one, with several hosts 6170")
      ->type_name("PORT");
  app.add_option("--grace", grace, "Seconds between asking a worker to end and killing it; default: 5")
      ->check(CLI::Range(0, 86400))
      ->type_name("SECONDS");
  app.add_option("--timeout", settings.timeout_seconds,
                 "Seconds that workers wait for one another before they give up; default: 300")
      ->check(CLI::Range(1, 1000000))
      ->type_name("SECONDS");
  app.add_flag("--dry-run", settings.dry_run, "Print environment and command of each rank, and start nothing");

  try {
    app.parse(argc, argv);
  } catch (CLI::Success const& request) {
    return app.exit(request);
  } catch (CLI::ParseError const& error) {
    std::fprintf(stderr, "fleetrun: %s\nfleetrun --help explains the options\n", error.what());
    return 2;
  }
  settings.grace = std::chrono::seconds{grace};
  settings.command = app.remaining();
  if (!settings.command.empty() && settings.command.front() == "--") settings.command.erase(settings.command.begin());
  if (!settings.command.empty() && settings.command.front().starts_with('-')) {
    std::fprintf(stderr, "fleetrun: there is no option %s\nfleetrun --help explains the options\n",
                 settings.command.front().c_str());
    return 2;
  }
  return fleet::launch::launch(settings, fleet::Environment::of_process());
}
