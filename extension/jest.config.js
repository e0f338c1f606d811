module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/src/__tests__/*.spec.ts'],
  transform: {
    '^.+\\.ts$': ['ts-jest', { tsconfig: '<rootDir>/tsconfig.test.json' }]
  }
};
