#pragma once

/// Runs the tests of whilst/adapters/dealii.hpp; prints what fails.
bool adapter_works();
