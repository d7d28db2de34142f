#pragma once

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/apps/run_program.hpp"

namespace whilst_test {

/// mpirun, if this machine has one and whilst was built with MPI; else empty.
inline std::string mpirun() {
  const outcome told = run_program(program_path("whilst"), {"info", "--json"});
  if (nlohmann::json::parse(told.out)["mpi"] != true) return "";
  std::istringstream folders(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string one; std::getline(folders, one, ':');)
    if (const std::string path = one + "/mpirun"; std::filesystem::exists(path)) return path;
  return "";
}

/// Of whilst as so many processes. Open MPI must be told to take more processes than cores, and a super-user's.
inline outcome run_processes(const std::string& mpirun, int count, const strings& arguments) {
  for (const char* name :
       {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"})
    ::setenv(name, "1", 1);
  ::setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
  return run_program(mpirun, with({"-n", std::to_string(count), program_path("whilst")}, arguments));
}

}  // namespace whilst_test
