// pch.h and GoogleTest, precompiled for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pch.h"
